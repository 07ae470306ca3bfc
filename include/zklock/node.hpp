// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named_enum.hpp"
#include "zklock/detail/same_library.hpp"

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock {

/// How long a node lives, and who names it. To the path of a sequential node the servers append ten digits, its
/// sequence number: how many children its parent has had before.
enum class node_kind : std::uint8_t {
    persistent,            ///< until somebody removes it
    persistent_sequential, ///< the same, and the servers put a number behind its name
    ephemeral,             ///< not longer than the session that created it; has no children
    ephemeral_sequential,  ///< the same, and the servers put a number behind its name
    container              ///< until some time after its last child is gone
};

/// The name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(node_kind e) noexcept
{
    return detail::name_of(e,
                           {"persistent", "persistent_sequential", "ephemeral", "ephemeral_sequential", "container"});
}

/// Stands for any version that a node may have.
inline constexpr std::int32_t any_version = -1;

/// What the servers know of a node besides its data.
struct node_stat {
    std::int64_t czxid = 0; ///< the transaction that created the node
    std::int64_t mzxid = 0; ///< the transaction that set its data last
    std::int64_t pzxid = 0; ///< the last transaction that created or deleted one of its children, or itself
    std::chrono::system_clock::time_point created;  ///< by the ensemble's clock
    std::chrono::system_clock::time_point modified; ///< when its data was set last, by that clock
    std::int64_t ephemeral_owner = 0;               ///< the session the node dies with, 0 for none
    std::int32_t version = 0;                       ///< how often its data was set
    std::int32_t cversion = 0;                      ///< how often a child was created or deleted
    std::int32_t num_children = 0;                  ///< how many children it has
    std::int32_t data_length = 0;                   ///< in bytes
    std::int32_t acl_version = 0;                   ///< how often its access list was replaced
};

/// A node as it was read.
struct node_content {
    node_content() = default; // no aggregate: see client_options

    std::string data; ///< what was written last; it may be binary
    node_stat stat;   ///< as of that data
};

/// Who may do what with a node: the access lists that need no names.
enum class acl : std::uint8_t {
    open,               ///< anybody may do anything
    creator_all,        ///< only clients with the same identity: that of `client_options::auth` or `sasl`, or of the
                        ///< certificate in `tls`; one of them must be there
    creator_all_or_read ///< the same, but anybody may read
};

/// The name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(acl e) noexcept
{
    return detail::name_of(e, {"open", "creator_all", "creator_all_or_read"});
}

/// What an entry of an access list allows; several are combined with `|`.
struct permission {
    static constexpr unsigned read = 1;   ///< the data and the children's names, and to hear of changes
    static constexpr unsigned write = 2;  ///< to set the data
    static constexpr unsigned create = 4; ///< children
    static constexpr unsigned remove = 8; ///< children: to delete a node takes the permission of its parent
    static constexpr unsigned admin = 16; ///< to set the access list
    static constexpr unsigned all = 31;   ///< all of these
};

/// One entry of an access list: what the clients may do that `scheme` and `id` name. Servers know these schemes:
/// `world` (the id is `anyone`), `auth` (the client that creates the node, by all that it has shown; the id does not
/// count), `digest` (`user:hash`, see `digest_entry()`; 16 bytes in base 64 or more, or it is `errc::invalid_option`),
/// `ip` (an address, or `10.0.0.0/8`), `x509` (the name in a certificate, see `client_options::tls`), `sasl` (the name,
/// see `client_options::sasl`), and those that are configured there.
struct access_entry {
    access_entry() = default; // no aggregate: see client_options
    /// An entry of these three.
    access_entry(std::string the_scheme, std::string the_id, unsigned what_is_allowed = permission::all);

    std::string scheme; ///< how the servers know the identity: `digest`, `world`, `ip`, `x509`, `auth`, …
    std::string id;     ///< the identity, in the form of that scheme
    unsigned allowed = permission::all; ///< of `permission`

    /// Whether all three are equal.
    friend bool operator==(const access_entry&, const access_entry&) = default;
};

/// The entry for every client that shows `credentials{"digest", "user:password"}`. It holds the password's SHA-1, as
/// the servers want it unless their `digestAlg` says otherwise. May be called from any thread. @throws std::bad_alloc
[[nodiscard]] access_entry digest_entry(std::string_view user, std::string_view password,
                                        unsigned allowed = permission::all);

/// An access list: who may do what with a node. A client that is in no entry may do nothing with it, but can see that
/// it is there. The list has 1 to 64 entries.
///
/// Those who share a lock read, write, create and delete below its path, and read each other's nodes. So the list of a
/// lock that several identities share has an entry for each of them, with all permissions.
///
/// Its thread safety is that of any value: distinct objects are safe, one object is not.
class access_list {
public:
    /// One of the lists that have a name. Throws std::bad_alloc.
    access_list(acl which = acl::open); // NOLINT: an acl is one
    /// A list of these entries. Throws std::bad_alloc.
    access_list(std::initializer_list<access_entry> entries);
    /// A list of these entries, for as many as are known at run time only.
    explicit access_list(std::vector<access_entry> entries);

    /// The entries, in the order in which they were given; valid as long as the list is not changed or destroyed.
    [[nodiscard]] const std::vector<access_entry>& entries() const noexcept { return entries_; }

    /// Whether both have the same entries in the same order.
    friend bool operator==(const access_list&, const access_list&) = default;

private:
    std::vector<access_entry> entries_;
};

/// One line, such as `digest:ann:cdrwa, world:anyone:r`: of each entry scheme, id and permissions (create, delete,
/// read, write, administrate). A digest's hash is left out.
[[nodiscard]] std::string to_string(const access_list&);

/// A node's access list as it was read.
struct node_access {
    node_access() = default; // no aggregate: see client_options

    access_list list; ///< who may do what with it
    node_stat stat;   ///< its `acl_version` is what `client::set_acl()` compares
};

/// Operations on nodes that are done together, in their order, or not at all: for `guard::commit()` and
/// `client::commit()`. It is a value; each function adds one operation at the end.
///
///     zklock::transaction sale;
///     sale.set("/stock", "41", version).create("/orders/order-", "…", zklock::node_kind::persistent_sequential);
///
/// Paths are below the client's chroot. The commit tells what is wrong with an operation.
///
/// Its thread safety is that of any value: distinct objects are safe, one object is not.
class transaction {
public:
    /// One of the operations.
    struct operation {
        /// What an operation does.
        enum class kind : std::uint8_t {
            create, ///< makes a node
            set,    ///< replaces its data
            remove, ///< deletes it
            check   ///< demands that it is there, in that version
        };
        kind what = kind::check;                   ///< what is to be done
        std::string path;                          ///< with which node
        std::string data;                          ///< for create and set
        node_kind created = node_kind::persistent; ///< for create
        std::int32_t version = any_version;        ///< for set, remove and check
        std::optional<access_list> access{};       ///< for create; nothing: the client's
    };

    transaction() = default; // no aggregate: see client_options

    /// Creates a node, which must not exist yet; its parent must. It cannot be a container: the C client cannot ask for
    /// one among other operations. Without `access` it gets the client's access list.
    transaction& create(std::string path, std::string data, node_kind kind = node_kind::persistent,
                        std::optional<access_list> access = {})
    {
        operations_.push_back(
            {operation::kind::create, std::move(path), std::move(data), kind, any_version, std::move(access)});
        return *this;
    }

    /// Replaces a node's data, if it has that version.
    transaction& set(std::string path, std::string data, std::int32_t version = any_version)
    {
        operations_.push_back({operation::kind::set, std::move(path), std::move(data), {}, version, {}});
        return *this;
    }

    /// Deletes a node, if it has that version and no children.
    transaction& remove(std::string path, std::int32_t version = any_version)
    {
        operations_.push_back({operation::kind::remove, std::move(path), {}, {}, version, {}});
        return *this;
    }

    /// Changes nothing: demands that the node exists and has that version.
    transaction& check(std::string path, std::int32_t version = any_version)
    {
        operations_.push_back({operation::kind::check, std::move(path), {}, {}, version, {}});
        return *this;
    }

    /// Whether it has no operation.
    [[nodiscard]] bool empty() const noexcept { return operations_.empty(); }
    /// How many operations it has.
    [[nodiscard]] std::size_t size() const noexcept { return operations_.size(); }
    /// The operations in their order; valid as long as the transaction is not changed or destroyed.
    [[nodiscard]] const std::vector<operation>& operations() const noexcept { return operations_; }

private:
    std::vector<operation> operations_;
};

/// The name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(transaction::operation::kind e) noexcept
{
    return detail::name_of(e, {"create", "set", "remove", "check"});
}

/// What one operation of a transaction did.
struct operation_result {
    std::string path;              ///< for create: the path of the node, with its sequence number
    std::optional<node_stat> stat; ///< for set: the node as it is since then
};

/// What became of a transaction.
struct commit_result {
    commit_result() = default; // no aggregate: see client_options

    /// One result for each operation, in their order; empty unless all were done.
    std::vector<operation_result> results;
    /// Which operation was refused, counted from 0, if the commit failed by one of them; the error_code tells why.
    std::optional<std::size_t> failed;
};

} // namespace zklock

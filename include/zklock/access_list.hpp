// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named_enum.hpp"
#include "zklock/detail/same_library.hpp"
#include "zklock/node.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace zklock {

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
    switch (e) {
    case acl::open: return "open";
    case acl::creator_all: return "creator_all";
    case acl::creator_all_or_read: return "creator_all_or_read";
    }
    return "unknown";
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
    std::string id; ///< the identity, in the form of that scheme
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

} // namespace zklock

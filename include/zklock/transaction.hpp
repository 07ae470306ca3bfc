// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/access_list.hpp"
#include "zklock/detail/named_enum.hpp"
#include "zklock/node.hpp"

#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock {

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
    switch (e) {
    case transaction::operation::kind::create: return "create";
    case transaction::operation::kind::set: return "set";
    case transaction::operation::kind::remove: return "remove";
    case transaction::operation::kind::check: return "check";
    }
    return "unknown";
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

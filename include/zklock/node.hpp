// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named_enum.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

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
    switch (e) {
    case node_kind::persistent: return "persistent";
    case node_kind::persistent_sequential: return "persistent_sequential";
    case node_kind::ephemeral: return "ephemeral";
    case node_kind::ephemeral_sequential: return "ephemeral_sequential";
    case node_kind::container: return "container";
    }
    return "unknown";
}

/// Stands for any version that a node may have.
inline constexpr std::int32_t any_version = -1;

/// What the servers know of a node besides its data.
struct node_stat {
    std::int64_t czxid = 0;           ///< the transaction that created the node
    std::int64_t mzxid = 0;           ///< the transaction that set its data last
    std::int64_t pzxid = 0;           ///< the last transaction that created or deleted one of its children, or itself
    std::chrono::system_clock::time_point created;  ///< by the ensemble's clock
    std::chrono::system_clock::time_point modified; ///< when its data was set last, by that clock
    std::int64_t ephemeral_owner = 0; ///< the session the node dies with, 0 for none
    std::int32_t version = 0;         ///< how often its data was set
    std::int32_t cversion = 0;        ///< how often a child was created or deleted
    std::int32_t num_children = 0; ///< how many children it has
    std::int32_t data_length = 0; ///< in bytes
    std::int32_t acl_version = 0;     ///< how often its access list was replaced
};

/// A node as it was read.
struct node_content {
    node_content() = default; // no aggregate: see client_options

    std::string data; ///< what was written last; it may be binary
    node_stat stat;   ///< as of that data
};

} // namespace zklock

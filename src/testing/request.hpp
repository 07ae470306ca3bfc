#pragma once
#include "store/store.hpp"
#include "testing/znode_tree.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zklock::testing {

enum class operation : std::uint8_t { write, exists, get, children, get_acl, unwatch, sync, ping };

/// What a client sends. All writes are transactions.
struct request {
    std::uint64_t number = 0;
    operation what = operation::ping;
    transaction write;
    std::string path; ///< of what is no write
    bool watch = false;

    [[nodiscard]] bool writes(transaction::kind kind) const noexcept
    {
        return what == operation::write && write.what == kind;
    }
    /// Whichever of the two it is about; empty for a batch.
    [[nodiscard]] const std::string& node() const noexcept { return what == operation::write ? write.path : path; }
};

/// What it is sent: the answer to a request, or (number 0) a node event.
struct answer {
    std::uint64_t number = 0;
    store::outcome result = store::outcome::ok;
    std::string path; ///< of the event, or that was created
    std::string data;
    store::node_stat stat;
    std::vector<std::string> names;    ///< of children, or the paths that a batch created
    std::vector<store::node_stat> set; ///< the nodes whose data a batch set
    std::size_t failed = store::batch_reply::no_write;
    shared_access access; ///< of a get_acl
    store::event_kind event = store::event_kind::created;
};

/// The answer to a write that had that effect.
[[nodiscard]] inline answer answer_to(znode_tree::effect done)
{
    answer a;
    a.result = done.result;
    a.path = std::move(done.path);
    a.stat = done.stat;
    a.names = std::move(done.created);
    a.set = std::move(done.set);
    a.failed = done.failed;
    return a;
}

} // namespace zklock::testing

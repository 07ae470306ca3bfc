#pragma once
#include "store/store.hpp"
#include "testing/znode_tree.hpp"

#include <cstdint>
#include <optional>
#include <string>
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

} // namespace zklock::testing

#pragma once
#include "store/store.hpp"
#include "zklock/client_options.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace zklock::bridge {

class wire;

/// One request, from the call of the store until its answer was given to the caller.
struct request {
    std::variant<std::monostate, store::store::done, store::store::create_done, store::store::get_done,
                 store::store::children_done>
        done; ///< monostate: nobody wants the answer
    lease_clock::time_point sent = lease_clock::now();
    wire* sender = nullptr;
    std::string watched;   ///< the path on the server whose watch a good answer arms
    std::string unwatched; ///< and the one whose watch it takes back
};

/// What the servers said, copied out of the C client's callbacks.
struct answer {
    std::unique_ptr<request> to;
    store::outcome result = store::outcome::unknown;
    std::string text; ///< the created path, or the data
    store::node_stat stat;
    std::vector<std::string> names;

    void deliver();
};
struct node_event {
    store::event_kind kind;
    std::string path;
};
struct connected {
    std::uint64_t epoch;
    std::int64_t session_id;
    std::chrono::milliseconds session_timeout;
};
struct disconnected {};
struct expired {};
struct authentication_failed {};
struct log_line {
    log_level level;
    std::string text;
};
struct closed {};

using message =
    std::variant<answer, node_event, connected, disconnected, expired, authentication_failed, log_line, closed>;

/// The one first-in-first-out between the C client's callbacks and the caller.
using inbox = std::deque<message>;

} // namespace zklock::bridge

#pragma once
#include "bridge/wire/server_watches.hpp"
#include "store/store.hpp"
#include "zklock/client_options.hpp"
#include "zklock/node.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace zklock::bridge {

class store_requests;

/// What the server made of a batch. Its memory is written to by the library until the answer is there.
struct batch_results {
    virtual ~batch_results() = default;

    std::vector<std::string_view> created;
    std::vector<store::node_stat> set;
    std::size_t failed = store::batch_reply::no_write;
};

/// One request, from the call of the store until its answer was given to the caller.
struct request {
    using to = store::node_store;
    std::variant<std::monostate, to::reply_done, to::create_done, to::stat_done, to::batch_done, to::get_done,
                 to::children_done, to::access_done>
        done; ///< monostate: nobody wants the answer
    lease_clock::time_point sent = lease_clock::now();
    store_requests* sender = nullptr;
    std::string path;                       ///< on the server, where it arms watches or takes them back
    watch_kind watch{};                     ///< that a good answer arms there
    bool arms_if_missing = false;           ///< `no_node` arms it, too
    bool takes_watches_back = false;        ///< of that node
    std::unique_ptr<batch_results> results; ///< of a batch that was sent
    bool has_clients_access = false;        ///< it creates, and with the access list of client_options only
    bool through_leader = false;            ///< a write or a sync
    std::unique_ptr<request> next_discarded;
};

/// What the servers said, copied out of the C client's callbacks.
struct answer {
    std::unique_ptr<request> to;
    store::outcome result = store::outcome::unknown;
    std::string text; ///< the created path, or the data
    store::node_stat stat;
    std::vector<std::string> names;
    std::unique_ptr<access_list> access;
    bool undone = false; ///< with `unknown`: it is certain after all that it was not done, and never will be

    void deliver();
};
struct node_event {
    store::event_kind kind;
    std::string path;
};
struct connected {
    std::uint64_t epoch;
    store::connect_reply reply; ///< `sent` is the connection's to say
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

} // namespace zklock::bridge

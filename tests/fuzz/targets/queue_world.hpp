#pragma once
#include "input.hpp"
#include "queue/lock_queue.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace zklock::fuzz {

/// A lock_queue with all that it deals with: callers, one connection at a time, and a server whose nodes other clients
/// and operators change too. Each step is chosen by a byte; what the queue decides is checked against what is true.
class queue_world {
public:
    explicit queue_world(input& in);

    void step();
    /// Everything recovers, foreign nodes go, holders leave: everybody must get the lock in the end, and nothing be
    /// left.
    void settle();

private:
    using id = queue::contender_id;
    using kind = queue::action::kind;

    struct node {
        std::int32_t sequence = 0;
        id creator = 0;              ///< 0: somebody else
        bool out_of_turn = false;    ///< somebody gave it a number of their own choice
    };
    using nodes = std::map<std::string, node>;

    enum class operation : std::uint8_t { create, synchronize, read, inspect, watch, unwatch, remove };
    struct request {
        operation what = operation::read;
        id whose = 0;
        std::string node; ///< of a create: the prefix
    };
    enum class outcome : std::uint8_t { ok, no_node, failed, unknown };
    struct arrival {
        std::optional<request> answered; ///< nothing: an event
        outcome result = outcome::ok;
        bool deleted = true; ///< the event's kind
        std::string node;    ///< of the event, or created
        std::vector<std::string> names;
        nodes known;         ///< what the server had when it sent this: no later connection shows less
    };

    struct caller {
        bool look_once = false;
        bool left = false; ///< wants no more, or was refused
        bool held = false;
        std::set<std::string> nodes;
    };

    // callers
    void join();
    void leave(bool held);
    void hold_on();
    void lapse();
    [[nodiscard]] id pick(bool held); ///< a caller that waits, or one that holds; 0 if there is none

    // the server, and others
    void execute(); ///< the oldest request
    void add_foreign();
    void delete_some_node();
    void change_some_node();
    void delete_parent();
    void forget_node(const std::string& name);
    void catch_up();
    [[nodiscard]] const nodes& seen_by_server() const { return lagging_ ? *lagging_ : nodes_; }
    [[nodiscard]] std::string next_number();

    // the connection
    void connect();
    void disconnect();
    void expire();
    void deliver(); ///< the oldest arrival
    void answer(const request& r, const arrival& a);
    void fail(const request& r);
    void send(operation what, id whose = 0, std::string node = {});

    // the queue's decisions
    void advance();
    void perform(const queue::action& a);
    void refused(id whose);
    void granted(id whose);
    void forgotten(id whose, bool was_held);
    void numbered(id whose, std::int32_t sequence);

    input& in_;
    const bool lists_lie_; ///< children come and go as the input likes: only crashes and lost callers count
    bool lying_;           ///< still
    queue::lock_queue queue_;
    std::map<id, caller> callers_;
    id last_id_ = 0;
    unsigned creates_ = 0;
    bool lease_fresh_ = true;
    bool may_create_ = true; ///< the node budget allows it
    bool synced_ = true;

    bool parent_exists_ = true;
    std::uint32_t counter_ = 0;
    unsigned foreigners_ = 0;
    nodes nodes_;
    std::optional<nodes> lagging_;      ///< what the connected server has, if less
    std::set<std::string> watched_;     ///< by this connection
    std::set<std::string> touched_;     ///< nodes of ours that others deleted

    bool connected_ = false;
    bool in_contact_ = false;
    std::deque<request> sent_;
    std::deque<arrival> arriving_;
    nodes known_; ///< what this client may have seen
};

} // namespace zklock::fuzz

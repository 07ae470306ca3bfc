#pragma once
#include "input.hpp"
#include "queue/lock_queue.hpp"

#include <deque>

namespace zklock::fuzz {

/// A lock_queue with all that it deals with: callers, one connection at a time, other clients, who also say of their
/// nodes that they have let them go, and a server whose nodes they and operators change too. In some worlds all
/// exclude each other, in others there are readers and writers. Each step is chosen by a byte; what the queue decides
/// is checked against what is true.
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
    using queue_kind = queue::contender_kind;

    struct node {
        std::int32_t sequence = 0;
        id creator = 0;           ///< 0: somebody else; or who has got it from that one
        bool out_of_turn = false; ///< somebody gave it a number of their own choice
    };
    using nodes = std::map<std::string, node>;

    /// What a server has, or had: the path's own node and its children.
    struct tree {
        bool exists = true;
        unsigned generation = 0; ///< how often it has been deleted
        unsigned data_changes = 0;
        bool has_data = false;
        std::uint32_t ever = 0; ///< children
        std::int64_t pzxid = 0;
        nodes children;
    };

    enum class operation : std::uint8_t {
        write,
        number, ///< look at a node made together with others
        synchronize,
        watch_parent,
        read,
        watch_children,
        inspect,
        watch,
        unwatch,
        downgrade,
        look_for_reader, ///< when a downgrade was refused
        look_at_parent,  ///< whether it is empty
        delete_parent    ///< if it is
    };
    [[nodiscard]] static const char* text_of(operation what);
    struct write {
        bool creates = false;
        id whose = 0;
        std::string node; ///< of a create: the prefix
    };
    struct request {
        operation what = operation::read;
        id whose = 0;
        std::string node;
        std::vector<write> writes; ///< together or not at all; of `number`: the creates
    };
    enum class outcome : std::uint8_t { ok, no_node, node_exists, failed };
    enum class event : std::uint8_t {
        node_deleted,
        node_changed,
        parent_deleted,
        parent_changed,
        children_changed,
        refusal
    };
    struct arrival {
        std::optional<request> answered; ///< nothing: an event
        outcome result = outcome::ok;
        std::size_t failed = 0; ///< which write
        event happened = event::node_deleted;
        std::string node;               ///< of the event
        std::vector<std::string> names; ///< listed, or created
        std::int64_t czxid = 0;
        tree known; ///< what the server had when it sent this: no later connection shows less
    };

    struct caller {
        queue_kind is = queue_kind::mutex;
        bool look_once = false;
        bool left = false; ///< wants no more, or was refused
        bool held = false;
        bool downgrading = false;    ///< a writer that has asked to be a reader, and has not heard of it
        bool downgrade_sent = false; ///< once at least
        std::set<std::string> nodes;
    };

    queue_world(input& in, std::uint8_t first);

    // callers
    void join();
    void leave(bool held);
    void hold_on();
    void downgrade();
    void lapse();
    [[nodiscard]] id pick(bool held); ///< a caller that waits, or one that holds; 0 if there is none

    // the server, and others
    void execute(); ///< the oldest request
    void execute(const std::vector<write>& writes, arrival& a);
    void execute_downgrade(const request& r, arrival& a);
    void execute_delete_parent(arrival& a);
    void tell(event happened, const std::string& node = {});
    void tell_children_changed();
    void add_foreign();
    void downgrade_foreign();
    void delete_some_node();
    void change_some_node();
    void set_parent();
    void delete_parent();
    void refuse();
    void begin_again(bool exists);
    void forget_node(const std::string& name);
    void catch_up();
    [[nodiscard]] const tree& seen_by_server() const { return lagging_ ? *lagging_ : tree_; }
    [[nodiscard]] std::string next_number();

    // the connection
    void connect();
    void disconnect();
    void expire();
    void deliver(); ///< the oldest arrival
    void path_refused();
    void parent_absent();
    void answer(const request& r, const arrival& a);
    void answer_writes(const request& r, const arrival& a);
    void answer_downgrade(const request& r, outcome result);
    void answer_look_for_reader(const request& r, bool exists);
    void answer_look_at_parent(const arrival& a);
    void created(const write& w, const std::string& node, std::int64_t czxid);
    void refused_write(const write& w);
    void fail(const request& r);
    void send(operation what, id whose = 0, std::string node = {}, std::vector<write> writes = {});

    // past the server
    void certify();
    void certify(const std::string& node);
    void certify_ours(const std::string& node);
    void certify_listed(const std::vector<std::string>& names);
    void await_ours();
    [[nodiscard]] bool is_ours(const std::string& name) const;
    [[nodiscard]] bool is_let_go(const std::string& name, const node& n) const;
    void check_passes_over(const queue::action& a, const std::string& own) const;

    // the queue's decisions
    void advance();
    void decide();
    bool send_writes(); ///< all that may go; false if there is none
    void perform(const queue::action& a);
    void refused(id whose);
    void exhausted(id whose);
    void shares(id whose, const std::string& node);
    void granted(const queue::action& a);
    /// By their kinds.
    [[nodiscard]] static bool exclude(queue_kind a, queue_kind b) { return !is_shared(a) || !is_shared(b); }
    [[nodiscard]] static queue_kind kind_of(const std::string& name);
    void forgotten(id whose, bool was_held);
    void check_number(id whose, const std::string& node);
    void check_remove(const queue::action& a) const;
    [[nodiscard]] bool ours_before(std::int32_t low, const std::string& other, const node& at) const;
    [[nodiscard]] bool somebody_before(const std::string& name, const node& at) const;
    void check_all_is_given() const;
    [[nodiscard]] bool others_queue() const;
    [[nodiscard]] bool quiet() const; ///< nothing is under way that could tell the queue more

    input& in_;
    const bool lists_lie_; ///< children come and go as the input likes: only crashes and lost callers count
    bool lying_;           ///< still
    const bool shared_;    ///< there are readers and writers
    const bool hands_off_; ///< others tell past the server what they let go; no world of an older kept input does
    const bool gathers_;   ///< writes wait, and go together
    const queue::reuse allowed_;
    queue::lock_queue queue_;
    std::map<id, caller> callers_;
    id last_id_ = 0;
    unsigned creates_ = 0;
    bool lease_renewable_ = true;
    bool may_create_ = true; ///< the node budget allows it
    bool synced_ = true;
    std::deque<id> removes_;                    ///< to be sent
    bool was_quiet_ = false;                    ///< before the queue decided
    std::map<std::string, unsigned> passed_on_; ///< how often a node was, past others that must have been noticed

    tree tree_;
    std::int64_t zxid_ = 0;
    unsigned foreigners_ = 0;
    std::optional<tree> lagging_;   ///< what the connected server has, if less
    std::set<std::string> watched_; ///< by this connection
    bool parent_watched_ = false;   ///< likewise
    bool children_watched_ = false;
    bool refused_ = false;          ///< while the queue watched the parent, which has not gone since
    std::set<std::string> touched_; ///< nodes of ours that others deleted
    std::set<std::string> let_go_;  ///< names that the queue was told of, known to it or not: others let them go
    std::set<std::string> passed_;  ///< those of them that the queue knew, and that it may still see
    std::set<std::string> told_;    ///< nodes of ours of which others may have been told so
    std::set<std::string> listed_;  ///< since the queue decided

    bool connected_ = false;
    bool in_contact_ = false;
    std::deque<request> sent_;
    std::deque<arrival> arriving_;
    tree known_; ///< what this client may have seen
};

} // namespace zklock::fuzz

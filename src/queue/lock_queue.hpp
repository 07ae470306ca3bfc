#pragma once
#include "queue/mutants.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zklock::queue {

/// One acquire of this client. Ids grow with the order of the calls, across all paths.
using contender_id = std::uint64_t;

/// What lock_queue wants done, in this order. Requests are to be sent in the order given.
struct action {
    enum class kind : std::uint8_t {
        // requests; each is reported back by the event in brackets
        synchronize,   ///< [none: a failed sync is reported with the read that follows it]
        read_children, ///< [children_read]
        inspect,       ///< read `node`, found under a contender's own name, with a watch [inspected]
        watch,         ///< read `node`, with a watch [watched]
        unwatch,       ///< [unwatched]
        remove,        ///< delete `node` of contender `id` [removed]
        // news; nothing is reported back
        granted, ///< contender `id` holds the lock
        refused, ///< contender `id` wanted to look once, and somebody is before it; it is leaving
        lost,    ///< contender `id` held the lock and its node is gone, or its session; forgotten
        gone     ///< contender `id` had left, and now its node is gone for certain; forgotten
    };
    kind what;
    contender_id id = 0;
    std::string node; ///< relative to the path
};

/// The protocol of a lock, as one client follows it on one path: what is known of the queue, where the client's own
/// contenders stand in it, and what has to be done next. Pure: events in, actions out, no clock and no I/O.
///
/// **Coverage.** A contender is covered once a view has listed its node, and stays so as long as the node lives: it pins
/// the parent, so no lower number can be given out any more, and the set below it only shrinks.
/// **Grant.** Only a covered contender, with nothing below it in the view but nodes of this session whose contenders have
/// left, a fresh lease, and, if it waited for another client, a confirmed watch on its own node.
/// **Events only remove knowledge.** A deleted event, or an answer that a node does not exist, removes that node; any other
/// event only means that its watch has to be armed again.
/// **New epoch.** No watch is armed; unfinished deletes are sent again; creates of unknown outcome are looked for, after a
/// sync because the new server may lag behind them, before any other create.
/// **New session.** The old one's nodes are its own affair; contenders that wait want a new node, holders are lost.
///
/// The simulator breaks each of these rules in turn, and shows the harm.
class lock_queue {
public:
    // --- contenders, as their callers wish -------------------------------------------------------------------------

    /// A contender queues. With `look_once` it is refused as soon as it is known that somebody is before it.
    void join(contender_id, bool look_once);

    /// The contender no longer wants the lock: it waited and gave up, or it held and is done. `gone` follows.
    void leave(contender_id);

    /// A holder holds on: from now on its own node is watched.
    void hold_on(contender_id);

    /// The lease ended: every holder is lost (without an action `lost`) and leaves. Returns who.
    std::vector<contender_id> lapse();

    // --- creates: pulled by the owner, who counts the bytes of live nodes -----------------------------------------

    /// The contender whose node is to be created next, or 0 when there is none or creates have to wait.
    [[nodiscard]] contender_id next_to_create() const;
    /// Its create was sent: for a node called `prefix` and a number.
    void create_sent(contender_id, std::string prefix);
    void created(contender_id, std::string_view node, std::int32_t sequence);
    /// The server refused, and created nothing. The contender wants a node again.
    void create_failed(contender_id);
    /// The connection ended before the answer.
    void create_unknown(contender_id);

    // --- answers and events, in the order of arrival ----------------------------------------------------------------

    /// Answer to read_children: all children, or none when the path does not exist. `synced`: the sync that had been
    /// asked for before it went well, or none had been.
    void children_read(const std::vector<std::string>& names, bool synced);
    void read_failed();
    /// The server refused to list. Who is looked for is looked for again after look_up_again(), or in the next epoch.
    void read_refused();
    void look_up_again();
    /// Answer to inspect: whether the node lives and belongs to this session.
    void inspected(contender_id, std::string_view node, bool ours);
    void inspect_unknown(contender_id);
    void watched(std::string_view node);      ///< the watch is confirmed
    void watch_failed(std::string_view node); ///< the watch is not there, nothing is known of the node
    void unwatched(std::string_view node);
    /// A node is gone: a deleted event, or any answer that says so.
    void node_gone(std::string_view node);
    /// An event other than deleted: the watch has been used up, and nothing else is known.
    void watch_fired(std::string_view node);
    /// Answer to remove: the node is gone.
    void removed(contender_id);
    /// Answer to remove: not done. It is asked for again in the next epoch, or after retry_remove().
    void remove_failed(contender_id);
    void retry_remove(contender_id);

    void epoch_began();
    void contact_lost();  ///< an outcome was unknown: the epoch is about to end, nothing is sent in it any more
    void epoch_ended();   ///< after every request of the epoch was answered
    void session_ended(); ///< between two epochs

    // --- decisions --------------------------------------------------------------------------------------------------

    /// What to do now, each thing once. `lease_fresh`: grants may be given.
    [[nodiscard]] std::vector<action> next(bool lease_fresh);

    /// A contender of this client holds, waits, or is about to: whoever looks once can see that it is busy.
    [[nodiscard]] bool contended() const noexcept { return contending_ != 0; }
    /// A contender of this client that has not left has a node, or may have one.
    [[nodiscard]] bool has_node() const noexcept { return with_node_ != 0; }
    [[nodiscard]] bool idle() const noexcept { return contenders_.empty() && watches_.empty(); }
    [[nodiscard]] bool knows(contender_id id) const { return contenders_.contains(id); }
    /// The node of a contender that has one.
    [[nodiscard]] const std::string& node(contender_id id) const { return node_of(contenders_.at(id)); }
    /// Whether a list of children shows a contender that has not left.
    [[nodiscard]] bool busy(const std::vector<std::string>& names) const;

private:
    enum class phase : std::uint8_t {
        wanted,     ///< has no node
        creating,   ///< its create was sent
        unknown,    ///< its create was sent and may have been done: to be looked for
        inspecting, ///< found, and being read
        queued,     ///< has a node and waits
        held,       ///< has the lock
        leaving     ///< its node is to be deleted
    };
    enum class watch_state : std::uint8_t { arming, armed, disarming };

    /// Sorted by the sequence number alone; the name only tells apart what others gave the same number.
    struct place {
        std::int32_t sequence;
        std::string node;
        friend bool operator==(const place&, const place&) = default;
        friend std::strong_ordering operator<=>(const place& a, const place& b)
        {
            if (a.sequence != b.sequence && !ZKLOCK_MUTANT(sorted_by_whole_name))
                return a.sequence <=> b.sequence;
            return a.node <=> b.node;
        }
    };
    using view = std::map<place, contender_id>; ///< nodes; 0 for those of others
    struct contender {
        phase now = phase::wanted;
        bool look_once = false;
        bool abandoned = false;          ///< left while it was not known whether it has a node
        bool covered = false;
        bool waited_for_another = false; ///< another client would be granted too, if our node were gone unseen
        bool holds_on = false;
        bool removing = false;
        std::uint64_t create_turn = 0;   ///< when its create was sent
        std::string prefix;              ///< of its node's name, while creating or unknown
        view::iterator spot{};           ///< its node, once known
    };

    struct sent_read {
        std::uint64_t turn;
        bool looks_up; ///< follows a sync
    };

    contender& at(contender_id id) { return contenders_.at(id); }
    void move(contender_id, contender&, phase);
    void forget(contender_id, action::kind news);
    void want_again(contender_id, contender&);
    void start_leaving(contender_id, contender&);
    void give_place(contender_id, contender&, std::string_view node, std::int32_t sequence);
    [[nodiscard]] static const std::string& node_of(const contender& c) { return c.spot->first.node; }
    void own_node_gone(contender_id);
    [[nodiscard]] bool own_node_from(std::int32_t sequence) const;
    void forget_view();
    void update_view(const std::vector<std::string>& names);
    void look_up_unknown(const std::vector<std::string>& names, bool complete);

    [[nodiscard]] view::iterator nearest_below(const contender&);
    bool decide_first(std::vector<action>&, bool lease_fresh);
    void refuse_those_behind();
    void read(std::vector<action>&, bool looks_up);
    void arm(std::vector<action>&, const std::string& node);
    void disarm_unneeded(std::vector<action>&);

    std::map<contender_id, contender> contenders_;
    std::set<contender_id> wanted_;
    std::map<std::uint64_t, contender_id> creating_; ///< by the turn of their create
    std::set<contender_id> unknown_;
    std::set<std::pair<std::int32_t, contender_id>> queued_;
    std::set<contender_id> held_;
    std::vector<contender_id> to_remove_;  ///< may name some that are forgotten
    std::vector<contender_id> to_inspect_; ///< likewise
    std::size_t contending_ = 0;
    std::size_t with_node_ = 0;
    std::size_t looking_once_ = 0; ///< how many of the queued ones look once

    view view_; ///< live nodes that count: of others, and of ours that have not left
    view left_; ///< nodes of ours that have left, until they are gone: as many as gave up, and nobody waits for them
    std::unordered_map<std::string, watch_state> watches_; ///< of this epoch
    std::set<std::string> watched_others_;                 ///< which of them may be on nodes of others
    std::vector<action> news_;

    bool connected_ = false;
    bool look_up_refused_ = false;
    std::deque<sent_read> reads_;       ///< unanswered ones
    std::uint64_t turn_ = 0;            ///< counts creates, reads and doubts, in order
    std::uint64_t last_read_turn_ = 0;  ///< of the last read sent in this epoch, 0 for none
    std::uint64_t answered_turn_ = 0;   ///< of the last read answered
    std::uint64_t doubt_turn_ = 0;      ///< who is before our first is known only by a read sent after this
};

} // namespace zklock::queue

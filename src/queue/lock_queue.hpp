#pragma once
#include "queue/lock_queue_action.hpp"
#include "queue/node_name.hpp"
#include "queue/own_contenders.hpp"

#include <boost/container/deque.hpp> // unlike the standard's, takes no memory while empty

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::queue {

inline constexpr std::int64_t numbers_end = std::int64_t{1} << 31; ///< a parent's numbers after this are negative

/// The protocol of a lock, as one client follows it on one path: what is known of the queue, where the client's own
/// contenders stand in it, and what has to be done next. Pure: events in, actions out, no clock and no I/O.
///
/// **Dense.** A parent numbers its children without a gap. If a client knows every live node up to a number, and gets
/// the next number for a node of its own, it knows the whole queue before that node without having read it. What it
/// knows that way holds only for the parent of which it was learnt: so its data watch on that parent must have been
/// confirmed before, in this epoch, and no event of any kind must have come for it since.
/// **Coverage.** A contender is covered once a view has listed its node, or is dense up to it, and stays so as long as
/// the node lives: the node pins the parent, so no lower number can be given out any more, and the set below it only
/// shrinks.
/// **Grant.** A contender is granted only if it is covered, the lease is fresh, its token is known, and nothing is
/// below it in the view but nodes of this session whose contenders have left, and nodes that do not exclude it (a
/// reader's readers). If it waited for another client, the watch on its own node must be confirmed, too.
/// **Growth.** There are two ways for the set below to grow. A writer that lives may be given a reader's node of the same
/// number, and then go. So when a writer of another client has gone, a contender that excludes readers is granted only
/// after a read sent since. A contender that reads need not care. And servers that are set back to a backup have nodes
/// again that were gone, perhaps of a session whose client never heard of its end. So a contender that was there before
/// the session went on over another connection is granted only after a read over this one.
/// **Look-ahead.** Of the nodes before the first that waits, the nearest two that exclude it are watched: so when the
/// nearer one goes, it is known that nobody else is left, and no read stands between its end and the grant.
/// **Events only remove knowledge.** A deleted event, or an answer that a node does not exist, removes that node; any
/// other event only means that its watch has to be armed again.
/// **New epoch.** No watch is armed. Unfinished deletes are sent again. Lost creates are looked for before any other
/// create, and after a sync, because the new server may lag behind them. If they are not found, their contenders want a
/// node again; but the creates remain lost: the server may be a leader that does not know that others have replaced it.
/// **New session.** The old session's nodes end with it; contenders that wait want a new node, holders are lost.
/// **Reuse**, where it is allowed: a contender that gives the lock back may pass its node on, or let it linger while a
/// watch on the children says that nobody else has queued.
/// **Let go.** Other clients may say that one of their nodes will serve nobody any more: for the queue it is gone, though
/// lists still show it, and its watch stays armed. Nodes of this client are never passed over so. A contender is granted
/// over such nodes only over a connection that watches its own, for others may have deleted that unheard; or in the step
/// in which a list shows its own, as one is granted that stands alone there. Of what a contender leaves by its own will,
/// held, queued or lingering, others may be told so; not of what it has lost.
/// **Numbers.** They end at 2^31. Where they are scarce, contenders without a node are held back in the client, no node
/// lingers, and the queue drains. Then one that is held back, and has no node of its own there, deletes the parent, so
/// that the next parent counts from 0. The servers refuse while there is a child. So nobody loses a place, a covered
/// contender has pinned the parent, and the event ends what is dense, as it does when an operator deletes the parent. A
/// contender that is held back waits for the youngest node that it saw, then looks again. If the parent cannot go (it
/// has other children, or nodes of contenders that no session owns, or data of its own, or may not be deleted), creates
/// go on to the limit; past the limit, each contender that comes asks once more whether it can go.
///
/// The simulator breaks these rules one by one, and shows the harm.
class lock_queue {
public:
    /// Numbers are scarce from `scarce_from` on; only tests choose another than sequence_scarce.
    explicit lock_queue(reuse allowed = {}, std::int32_t scarce_from = sequence_scarce, name_rules names = {})
        : scarce_from_(scarce_from), allowed_(allowed), names_(std::move(names))
    {
    }

    // --- contenders, as their callers wish -------------------------------------------------------------------------

    /// A contender queues. With `look_once` it is refused as soon as it is known that somebody is before it with whom
    /// it cannot hold the lock together.
    void join(contender_id, bool look_once, contender_kind kind = contender_kind::mutex);

    /// The contender no longer wants the lock: it waited and gave up, or it held and is done. `gone` or `vanished`
    /// follows. `by_own_will`: others may be told that its node will serve nobody any more.
    void leave(contender_id, bool by_own_will = true);

    /// A holder holds on: from now on its own node is watched.
    void hold_on(contender_id);

    /// Others have asked that the contender's node be given up: it will serve nobody else.
    void revoke(contender_id);

    /// A writer that holds wants to hold on as a reader. `shares` follows, or `lost`; or downgrade_refused() is called.
    void downgrade(contender_id);

    /// A node that lingers has done so for long enough.
    void stop_lingering();

    /// The lease ended: every holder is lost (without an action `lost`) and leaves. Returns those holders.
    std::vector<contender_id> lapse();

    // --- creates: pulled by the owner, who counts the bytes of live nodes -----------------------------------------

    /// The contender whose node is to be created next, or 0 when there is none or creates have to wait. The owner
    /// asks when a step is complete, and after each create_sent().
    [[nodiscard]] contender_id next_to_create() const;
    /// The contender's create was sent, for a node whose name is `prefix` and a number.
    void create_sent(contender_id, std::string_view prefix);
    /// The contender's create has to be sent again: later than all that was sent since.
    void create_sent_again(contender_id);
    /// The contender's node was created. `czxid` is known only of a create that was sent alone.
    void created(contender_id, std::string_view node, std::int32_t sequence, std::int64_t czxid = 0);
    /// The czxid of a contender's node is known, and so is its token, which can count that many grants more.
    void token_known(contender_id, unsigned further_grants, std::int64_t czxid = 0);
    /// The czxid could not be read together with others: the node is to be inspected.
    void token_missed(contender_id);
    /// The server refused, and created nothing. The contender wants a node again.
    void create_failed(contender_id);
    /// The connection ended before the answer.
    void create_unknown(contender_id);

    // --- answers and events, in the order of arrival ----------------------------------------------------------------

    /// The answer to read_children: all children, or none when the path does not exist, and how many its node ever had.
    /// `synced`: the sync that was asked for before the read went well; it means nothing if none was asked for.
    void children_read(const std::vector<std::string>& names, std::int32_t ever, bool synced);
    void read_failed();
    /// The server refused to list. Lost creates are looked for again after look_up_again(), or in the next epoch.
    void read_refused();
    void look_up_again();
    /// The answer to watch_parent: how many children the path's node has, and ever had, and the transaction that
    /// created or deleted the last one.
    void parent_watched(std::int32_t children, std::int32_t ever, std::int64_t changed_by);
    void parent_absent(); ///< there is no such node; also the answer to remove_parent, when it is done
    /// Whether remove_parent is to delete the path's node, should it be empty. It ever had so many children.
    [[nodiscard]] bool may_remove_parent(std::int32_t ever);
    void parent_occupied(); ///< answer to remove_parent: it has children, or was changed meanwhile
    void parent_stays();    ///< answer to remove_parent: it is not to be deleted, or may not be
    void remove_parent_unknown();
    void parent_watch_failed();
    /// Events for the path's own node.
    void parent_deleted();
    void parent_changed();
    void children_changed();
    /// The server has refused something at the path. A client that may not read it hears of no event: so the
    /// path's node may have been deleted and made again.
    void path_refused();
    /// The answer to inspect: whether the node lives and belongs to this session.
    void inspected(contender_id, std::string_view node, bool ours);
    void inspect_unknown(contender_id);
    /// The watch is confirmed. `lasting`: no session owns the node.
    void watched(std::string_view node, bool lasting = false);
    void watch_failed(std::string_view node); ///< the watch is not there, nothing is known of the node
    void unwatched(std::string_view node);
    /// A node is gone: a deleted event, or any answer that says so.
    void node_gone(std::string_view node);
    /// Its client has let the node go. False if it is not a node of another client in the view.
    bool certified(std::string_view node);
    /// Another client says that it waits for a node of this one.
    void awaited() noexcept { disturbed_ = true; }
    /// An event other than deleted: the watch has been used up, and nothing else is known.
    void watch_fired(std::string_view node);
    /// The answer to remove: the node is gone, and `was_there` until then.
    void removed(contender_id, bool was_there = true);
    /// The answer to remove: it was not done. It is asked for again in the next epoch, or after retry_remove().
    void remove_failed(contender_id);
    void retry_remove(contender_id);
    /// The answers to downgrade.
    void downgraded(contender_id, bool before = false); ///< it was done, now or before
    void downgrade_unknown(contender_id);               ///< the connection ended before the answer
    void downgrade_refused(contender_id);               ///< it was refused: the contender is a writer still
    void downgrade_lost(contender_id);                  ///< the writer's node is gone

    void epoch_began();
    void contact_lost();  ///< an outcome was unknown: the epoch is about to end, nothing is sent in it any more
    void epoch_ended();   ///< after every request of the epoch was answered
    void session_ended(); ///< between two epochs

    // --- decisions --------------------------------------------------------------------------------------------------

    /// What to do now, each thing once, the requests first; valid until the next call. `lease_fresh`: grants may be
    /// given.
    [[nodiscard]] const std::vector<action>& next(bool lease_fresh);

    /// Whether next() may have something to do, if nothing has happened since it was called last but that writes were
    /// sent, and that contenders without a node have left.
    [[nodiscard]] bool unsettled() const noexcept { return !news_.empty() || scarce() || creates_seek_coverage(); }

    [[nodiscard]] const own_contenders& own() const noexcept { return ours_; }

    /// Whether next() may have a grant to give, if the lease is fresh.
    [[nodiscard]] bool may_grant() const noexcept { return !ours_.queued().empty() || ours_.lingering() != nullptr; }
    /// Contenders without a node get none before the parent has been made again.
    [[nodiscard]] bool holds_back() const noexcept { return scarce() && emptying_ != emptying::impossible; }
    [[nodiscard]] bool idle() const noexcept { return ours_.empty() && watches_.empty(); }
    /// A watch on that node is there or asked for, and not to be taken back.
    [[nodiscard]] bool is_watched(std::string_view node) const;
    /// There is a watch on the path's own node.
    [[nodiscard]] bool watches_parent() const noexcept
    {
        return parent_ != watch_state::off || children_ != watch_state::off || refused_watch_;
    }
    /// Forgets that watch, and what is known by it.
    void forget_parent();
    /// Whether a contender waits behind that node, which is another client's.
    [[nodiscard]] bool waits_behind(std::string_view node) const;
    /// The nodes of other clients before the first contender that waits: the nearest first.
    [[nodiscard]] std::vector<std::string> others_before_ours(std::size_t most) const;
    /// How many nodes that were let go, and not seen gone yet, a contender was granted over.
    [[nodiscard]] std::size_t passed_over() const noexcept;
    /// The nearest of those that this one was the first to be granted over; empty if there are none.
    [[nodiscard]] std::string_view passed_over_by(contender_id) const noexcept;
    /// The contender that has that node and has not left, or 0.
    [[nodiscard]] contender_id contender_of(std::string_view node) const;
    /// It is the node of a contender, of one that has left, too, or one that a lost create or a downgrade has made.
    [[nodiscard]] bool owns(std::string_view node) const;
    /// A list of children lacks the node of a contender that has not left.
    [[nodiscard]] bool misses_any(const std::set<std::string_view>& names) const;
    /// Who is before a contender that waits, as far as it is known.
    struct those_before {
        std::string_view first; ///< in the queue; empty if there is none, or it is one of ours and does not hold
        std::size_t count = 0;  ///< as last seen
        bool excluded = false;
    };
    /// It is excluded by a node of another client's, by one of ours that holds, or by one of ours that waits for such a
    /// node. Once it is covered, all nodes before it count that are not known to be gone. Until then another client's
    /// counts only before one of ours that waits and is covered, or while it is watched: it may be gone since a
    /// contender that left has seen it.
    [[nodiscard]] those_before before(contender_id, std::size_t most_counted) const;
    /// Whom a contender waits behind.
    struct predecessor {
        std::string_view node;  ///< the nearest before it that excludes it; empty if none is known
        bool is_read = false;   ///< the answer to its watch will come, and tell more
    };
    [[nodiscard]] predecessor predecessor_of(contender_id) const;
    /// What is before the contenders that wait is not known yet.
    [[nodiscard]] bool seeks_coverage() const { return !ours_.queued().empty() && !ours_.queued().begin()->covered; }
    /// Whether a contender of that kind would be excluded that has no place.
    [[nodiscard]] bool excludes_newcomers(contender_kind kind) const
    {
        return excluded_before(view_.end(), known_until(), kind);
    }
    /// Whether a list of children shows a contender that has not left, and excludes that kind.
    [[nodiscard]] bool busy(const std::vector<std::string>& names, contender_kind kind = contender_kind::mutex) const;

private:
    enum class watch_state : std::uint8_t { off, arming, armed, disarming };
    /// How far the parent is from being deleted, where its numbers are scarce.
    enum class emptying : std::uint8_t {
        unasked,
        asked,     ///< its delete was asked for
        occupied,  ///< there were children: the youngest is waited for
        impossible ///< not in this epoch
    };
    struct sent_read {
        std::uint64_t stamp;
        bool looks_up; ///< follows a sync
        bool watches;  ///< the children
    };

    [[nodiscard]] static bool excludes(contender_kind before, contender_kind kind)
    {
        return !is_shared(kind) || !is_shared(before);
    }
    // Before `here`, which is the end for a contender without a place.
    [[nodiscard]] view::const_iterator known_until() const;
    [[nodiscard]] bool is_there(const view::value_type& node, view::const_iterator until) const;
    [[nodiscard]] view::const_iterator first_obstacle(view::const_iterator here, view::const_iterator until) const;
    [[nodiscard]] bool excluded_before(view::const_iterator here, view::const_iterator until, contender_kind) const;
    void leave(contender&, bool by_own_will);
    void create_failed(contender&);
    void move(contender&, phase);
    void forget(contender&, action::kind news);
    void want_again(contender&);
    void start_leaving(contender&, bool by_own_will = false);
    void give_place(contender&, std::string_view node, std::int32_t sequence);
    void own_node_gone(contender_id);
    void own_node_gone(contender&);
    void forget_watch(std::string_view node);
    void suspect_others();
    void may_have_read_on(contender_kind its);
    void doubt_unwatched_before(const place_name&);
    [[nodiscard]] bool stands_over_let_go(const contender&) const;
    [[nodiscard]] bool watches_own(const contender&) const;
    [[nodiscard]] bool own_node_from(std::int32_t sequence) const;
    void forget_view();
    void update_view(const std::vector<std::string>& names);
    void know_through(std::int32_t ever);
    void see_whether_alone();
    void only_ours_remain(bool the_youngest, std::int32_t ever);
    void look_up_unknown(const std::vector<std::string>& names, bool complete);

    [[nodiscard]] view::iterator nearest_below(view::iterator, contender_kind);
    [[nodiscard]] bool may_have_grown(contender_kind) const noexcept;
    [[nodiscard]] bool only_known_of_old(const contender&) const noexcept;
    bool decide_first(std::vector<action>&, bool lease_fresh);
    [[nodiscard]] bool has_to_watch_own(const contender&) const;
    [[nodiscard]] bool may_pass_over(std::vector<action>&, const contender&);
    bool pass_over(const contender&);
    bool queue_behind(std::vector<action>&, contender&, view::iterator predecessor);
    bool grant_first(std::vector<action>&, contender&, bool lease_fresh);
    /// Nobody waits, and it is not known who is before those whose creates were sent.
    [[nodiscard]] bool creates_seek_coverage() const noexcept
    {
        return ours_.queued().empty() && !ours_.creating().empty() && (!dense_ || others_expected_);
    }
    void seek_coverage(std::vector<action>&, std::uint64_t stamp);
    void wait_for(std::vector<action>&, view::iterator predecessor, contender_kind);
    void decide_lingering(std::vector<action>&, bool lease_fresh);
    [[nodiscard]] bool may_stay(const contender&) const;
    [[nodiscard]] bool undisturbed(const contender&) const;
    void refuse_those_behind();
    void remove_those_left(std::vector<action>&);
    [[nodiscard]] bool only_ours_wait_for(const place&) const;
    [[nodiscard]] bool scarce() const noexcept
    {
        return next_number_ >= scarce_from_;
    }
    void note_ever(std::int32_t ever);
    void numbers_begin_again();
    void empty_parent(std::vector<action>&);
    bool wait_for_youngest(std::vector<action>&);
    void send_away(action::kind how, contender_id up_to = std::numeric_limits<contender_id>::max());
    void read(std::vector<action>&, action::kind, bool looks_up);
    void arm(std::vector<action>&, const std::string& node);
    void disarm_unneeded(std::vector<action>&);

    // What each decision looks at stands together, in as few cache lines as possible: a client with many paths comes back
    // to each when it has seen to all the others.
    bool connected_ = false;
    bool dense_ = false;              ///< known_through_ holds
    bool others_expected_ = false;    ///< they were met the last time: it is likely that a read will be needed
    bool disturbed_ = false;          ///< others may have queued since a node was left to linger
    bool look_after_holders_ = false; ///< the watch of one who holds on may have to be armed
    bool look_up_refused_ = false;
    bool refused_watch_ = false; ///< there may still be one that a refusal has made count for nothing
    bool just_listed_ = false;   ///< a list of the children has come since the last decisions
    bool strangers_ = false;     ///< the last list had children that are no contenders
    watch_state parent_ = watch_state::off;   ///< on the data of the path's own node
    watch_state children_ = watch_state::off; ///< on its children
    emptying emptying_ = emptying::unasked;
    const std::int32_t scarce_from_;
    const reuse allowed_;
    std::int32_t known_through_ = -1; ///< every live node up to this number is in the view
    std::int32_t numbers_used_ = 0;   ///< after that, by downgrades of ours: they count as children made
    std::int64_t next_number_ = 0;    ///< that the parent gives, as far as is known
    std::uint64_t stamp_ = 0;         ///< the last one given: creates, reads and doubts get one each, in order
    std::uint64_t last_read_stamp_ = 0; ///< of the last read sent in this epoch, 0 for none
    std::uint64_t answered_stamp_ = 0;  ///< of the last read answered
    std::uint64_t doubt_stamp_ = 0;     ///< only a read sent after this tells who is before our first
    std::uint64_t growth_stamp_ = 0;    ///< only a read sent after this tells whether a reader has come to be there
    std::uint64_t carried_over_stamp_ = 0; ///< what was known by then is of a connection before
    bool goes_on_ = false;                 ///< the session has had a connection before
    std::vector<action> news_;
    std::vector<action> actions_;          ///< what next() gave last
    std::vector<contender_id> to_remove_;  ///< some may be forgotten
    std::vector<contender_id> to_inspect_; ///< some may be forgotten
    own_contenders ours_;
    view view_; ///< live nodes that count: of others, and of ours that have not left
    view::node_type spare_place_;           ///< of the last node of ours that has gone: likewise
    view left_; ///< nodes of ours that have left, until they are gone: nobody waits for them
    view let_go_; ///< nodes of others that were let go, until they are gone; with who was first granted over them, or 0
    std::set<std::string> watched_others_; ///< the watched nodes that may be others'
    boost::container::deque<sent_read> reads_; ///< unanswered ones

    std::map<std::string, watch_state, std::less<>> watches_; ///< of this epoch
    std::set<std::string, std::less<>> lasting_;              ///< watched nodes that no session owns
    const name_rules names_;
    std::uint64_t occupied_stamp_ = 0; ///< when the parent was found to be
    std::string awaited_;              ///< the youngest node then
    contender_id asked_for_ = 0;       ///< the last contender held back when the parent's delete was asked for
    struct parent_look {
        std::int32_t children;
        std::int32_t ever;
        std::int64_t changed_by;
    };
    std::optional<parent_look> last_look_; ///< at the parent, if nothing else has been learnt of the queue since
};

} // namespace zklock::queue

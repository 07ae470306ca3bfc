#pragma once
#include "queue/known_queue.hpp"
#include "queue/lock_queue_action.hpp"
#include "queue/node_name.hpp"
#include "queue/node_reuse.hpp"
#include "queue/parent_emptying.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::queue {

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
/// **Grant.** A contender is granted only if it is covered, the lease is renewable, its token is known, and nothing is
/// below it in the view but nodes of this session whose contenders have left, and nodes that do not exclude it (a
/// reader's readers). If it waited for another client, the watch on its own node must be confirmed, too.
/// **Growth.** There are two ways for the set below to grow. A writer that lives may be given a reader's node of the
/// same number, and then go. So when a writer of another client has gone, a contender that excludes readers is granted
/// only after a read sent since. A contender that reads need not care. And servers that are set back to a backup have
/// nodes again that were gone, perhaps of a session whose client never heard of its end. So a contender that was there
/// before the session went on over another connection is granted only after a read over this one.
/// **Look-ahead.** Of the nodes before the first that waits, the nearest two that exclude it are watched: so if the
/// farther one has gone, nobody else is left when the nearer one goes, and no read stands between that and the grant.
/// **Events only remove knowledge.** A deleted event, or an answer that a node does not exist, removes that node; any
/// other event only means that its watch has to be armed again.
/// **New epoch.** No watch is armed. Unfinished deletes are sent again. Lost creates are looked for before any other
/// create, and after a sync, because the new server may lag behind them. If they are not found, their contenders want a
/// node again; but the creates remain lost: the server may be a leader that does not know that others have replaced it.
/// **New session.** The old session's nodes end with it; contenders that wait want a new node, holders are lost.
/// **Reuse**, where it is allowed: a contender that gives the lock back may pass its node on, or let it linger while a
/// watch on the children says that nobody else has queued.
/// **Let go.** Other clients may say that one of their nodes will serve nobody any more: for the queue it is gone,
/// though lists still show it, and its watch stays armed. Nodes of this client are never passed over so. A contender is
/// granted over such nodes only over a connection that watches its own, for others may have deleted that unheard; or in
/// the step in which a list shows its own, as one is granted that stands alone there. Of what a contender leaves by its
/// own will, held, queued or lingering, others may be told so; not of what it has lost.
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
        : known_(scarce_from, std::move(names)), reuse_(allowed)
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
    void create_sent_again(contender_id id) { known_.own().create_again(at(id), known_.reads().next_stamp()); }
    /// The contender's node was created. `czxid` is known only of a create that was sent alone.
    void created(contender_id, std::string_view node, std::int32_t sequence, std::int64_t czxid = 0);
    /// The czxid of a contender's node is known, and so is its token, which can count that many grants more.
    void token_known(contender_id, unsigned further_grants, std::int64_t czxid = 0);
    /// The czxid could not be read together with others: the node is to be inspected.
    void token_missed(contender_id);
    /// The server refused, and created nothing. The contender wants a node again.
    void create_failed(contender_id id) { known_.create_failed(at(id)); }
    /// The connection ended before the answer.
    void create_unknown(contender_id id) { known_.move(at(id), phase::unknown); }

    // --- answers and events, in the order of arrival ----------------------------------------------------------------

    /// The answer to read_children: all children, or none when the path does not exist, and how many its node ever had.
    /// `synced`: the sync that was asked for before the read went well; it means nothing if none was asked for.
    void children_read(const std::vector<std::string>& names, std::int32_t ever, bool synced);
    void read_failed();
    /// The server refused to list. Lost creates are looked for again after look_up_again(), or in the next epoch.
    void read_refused();
    void look_up_again() { known_.reads().look_up_again(); }
    /// The answer to watch_parent: how many children the path's node has, and ever had, and the transaction that
    /// created or deleted the last one.
    void parent_watched(std::int32_t children, std::int32_t ever, std::int64_t changed_by);
    /// There is no such node: any answer that says so, that to remove_parent when it is done, or a deleted event.
    void parent_absent();
    /// Whether remove_parent is to delete the path's node, should it be empty. It ever had so many children.
    [[nodiscard]] bool may_remove_parent(std::int32_t ever) { return emptying_.may_remove(known_.parent(), ever); }
    /// Answer to remove_parent: it has children, or was changed meanwhile.
    void parent_occupied() { emptying_.occupied(known_.reads().next_stamp()); }
    /// Answer to remove_parent: it is not to be deleted, or may not be.
    void parent_stays() { emptying_.impossible(); }
    void remove_parent_unknown() { emptying_.ask_again(); }
    void parent_watch_failed() { known_.parent().watch_failed(); }
    /// Forgets the watch on the path's own node, and what is known by it.
    void forget_parent() { known_.parent().forget(); }
    /// Other events for the path's own node.
    void parent_changed() { known_.parent().changed(); }
    void children_changed();
    /// The server has refused something at the path. A client that may not read it hears of no event: so the
    /// path's node may have been deleted and made again.
    void path_refused();
    /// The answer to inspect: whether the node lives and belongs to this session.
    void inspected(contender_id, std::string_view node, bool ours);
    void inspect_unknown(contender_id);
    /// The watch is confirmed. `lasting`: no session owns the node.
    void watched(std::string_view node, bool lasting = false) { known_.watches().armed(node, lasting); }
    /// The watch is not there, or an event other than deleted has used it up: nothing else is known of the node.
    void watch_failed(std::string_view node) { known_.watches().ended(node); }
    void unwatched(std::string_view node) { known_.watches().disarmed(node); }
    /// A node is gone: a deleted event, or any answer that says so.
    void node_gone(std::string_view node) { known_.node_gone(node); }
    /// Its client has let the node go. False if it is not a node of another client in the view.
    bool certified(std::string_view node) { return known_.certified(node); }
    /// Another client says that it waits for a node of this one.
    void awaited() noexcept { reuse_.disturb(); }
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

    void epoch_began() { known_.epoch_began(); }
    /// An outcome was unknown: the epoch is about to end, nothing is sent in it any more.
    void contact_lost() { known_.contact_lost(); }
    void epoch_ended(); ///< after every request of the epoch was answered
    /// Between two epochs.
    void session_ended() { known_.session_ended(); }

    // --- decisions --------------------------------------------------------------------------------------------------

    /// What to do now, each thing once, the requests first; valid until the next call. `lease_renewable`: grants may be
    /// given.
    [[nodiscard]] const std::vector<action>& next(bool lease_renewable);

    /// Whether next() may have something to do, if nothing has happened since it was called last but that writes were
    /// sent, and that contenders without a node have left.
    [[nodiscard]] bool unsettled() const noexcept
    {
        return known_.has_news() || known_.parent().scarce() || known_.creates_seek_coverage();
    }
    /// Whether next() may have a grant to give, if the lease is renewable.
    [[nodiscard]] bool may_grant() const noexcept { return !own().queued().empty() || own().lingering() != nullptr; }
    [[nodiscard]] bool idle() const noexcept { return own().empty() && known_.watches().empty(); }
    [[nodiscard]] const known_queue& known() const noexcept { return known_; }
    [[nodiscard]] shown_nodes take_shown() noexcept { return known_.take_shown(); }
    [[nodiscard]] const own_contenders& own() const noexcept { return known_.own(); }

private:
    [[nodiscard]] contender& at(contender_id id) { return known_.own().at(id); }
    void numbers_begin_again();

    known_queue known_;
    node_reuse reuse_;
    parent_emptying emptying_;
    std::vector<action> actions_; ///< what next() gave last
};

} // namespace zklock::queue

// What the lock_queue wants done, as requests and news.
#include "recipes/locks/lock_path.hpp"

#include "queue/node_name.hpp"
#include "queue/owner_data.hpp"
#include "recipes/session/error_mapping.hpp"

#include <span>
#include <utility>
#include <vector>

namespace zklock::recipes {

using store::outcome;

namespace {

/// How many children a node ever had: its cversion counts each once when it comes and once when it goes.
std::int32_t children_ever(const store::node_stat& stat)
{
    const auto changes = static_cast<std::uint32_t>(stat.cversion) + static_cast<std::uint32_t>(stat.num_children);
    return static_cast<std::int32_t>(changes / 2);
}

} // namespace

void lock_path::carry_out(const queue::action& action, store::scheduler::time_point now)
{
    using kind = queue::action::kind;
    const auto contender = [&]() -> const contender_ptr& { return contenders_.at(action.id); };
    switch (action.what) {
    case kind::synchronize: session_.catch_up.begin(); break;
    case kind::watch_parent: send_parent_watch(); break;
    case kind::read_children: send_read(false); break;
    case kind::watch_children: send_read(true); break;
    case kind::inspect: send_inspect(contender(), action.node); break;
    case kind::watch: send_watch(action.node); break;
    case kind::downgrade: send_downgrade(contender(), action.node, contender()->data(), 0); break;
    case kind::unwatch: send_unwatch(action.node); break;
    case kind::remove: start_remove(action); break;
    case kind::remove_parent: send_remove_parent(); break;
    case kind::granted: grant(*contender(), action, now); break;
    case kind::shares: contender()->finish_downgrade({}, full(action.node)); break;
    case kind::refused:
        contender()->note_refusal(action.by_others);
        contender()->fail(errc::busy);
        break;
    case kind::exhausted: contender()->fail(errc::sequence_exhausted); break;
    case kind::lost:
        contender()->lose(action.node);
        contender()->release_lost(action.node); // if it was released before this could be told
        forget(action.id);
        break;
    case kind::lingers:
        contender()->finish_release({});
        lingers_since_ = session_.scheduler.now();
        plan_end_of_lingering();
        break;
    case kind::not_found: session_.lost_creates.not_found(path_, action.node); break;
    case kind::gone:
        contender()->finish_release({});
        forget(action.id);
        break;
    case kind::vanished: // if an answer to its delete is still due, that will tell whose doing it was; if not, it has
        if (const contender_ptr* const left = contenders_.find(action.id); left && !(*left)->deleting())
            end_release(**left, action.node);
        break;
    }
}

void lock_path::start_remove(const queue::action& action)
{
    if (const contender_ptr* const its = handoffs_ ? contenders_.find(action.id) : nullptr)
        handoffs_->gives_up(**its, action.by_own_will);
    session_.writes.remove(*this, action.id, !action.may_wait);
}

/// Users may wait for the same node.
void lock_path::send_unwatch(const std::string& node)
{
    if (session_.listeners.hand_over_watch(full(node)))
        return queue_.unwatched(node);
    session_.store.unwatch(full(node), expect([this, node](const store::reply&) { queue_.unwatched(node); }));
}

void lock_path::send_parent_watch()
{
    session_.store.get(path_, true, expect([this](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            return queue_.parent_watched(answer.stat.num_children, children_ever(answer.stat), answer.stat.pzxid);
        case outcome::no_node: return queue_.parent_absent();
        default:
            queue_.parent_watch_failed();
            notice_refusal(answer.result);
            if (answer.result != outcome::unknown)
                fail_waiting(error_of(answer.result));
        }
    }));
}

/// What others have put into it would be lost: then it stays. The servers are asked although there are children, for
/// they look at the permission first: all clients are to find alike whether the parent may go.
void lock_path::send_remove_parent()
{
    const auto removed = [this](const store::reply& answer) {
        session_.wrote(answer);
        switch (answer.result) {
        case outcome::ok:
            queue_.parent_absent();
            if (queue_.own().wanted().empty() && parent_kind_ == parent_kind::persistent && !parents_.busy())
                make_path(parent_kind_, access_); // others may rely on it
            return;
        case outcome::no_node: return queue_.parent_absent();
        case outcome::not_empty:
        case outcome::bad_version: return queue_.parent_occupied();
        case outcome::unknown: return queue_.remove_parent_unknown();
        default: return queue_.parent_stays();
        }
    };
    session_.store.get(path_, false, expect([this, removed](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            if (!queue_.may_remove_parent(children_ever(answer.stat)))
                return;
            if (!answer.data.empty())
                return queue_.parent_stays();
            return session_.store.remove(path_, answer.stat.version, expect(removed));
        case outcome::no_node: return queue_.parent_absent();
        case outcome::unknown: return queue_.remove_parent_unknown();
        default:
            notice_refusal(answer.result);
            return queue_.parent_stays();
        }
    }));
}

void lock_path::send_read(bool watch)
{
    session_.store.children(path_, watch, expect([this](const store::children_reply& answer) {
        static const std::vector<std::string> none;
        switch (answer.result) {
        case outcome::ok:
            queue_.children_read(*answer.names, children_ever(answer.stat), session_.catch_up.done());
            if (handoffs_)
                handoffs_->listed();
            return;
        case outcome::no_node:
            queue_.children_read(none, 0, session_.catch_up.done());
            return queue_.parent_absent(); // nor is there a watch
        case outcome::unknown: return queue_.read_failed();
        default:
            queue_.read_refused();
            notice_refusal(answer.result);
            fail_waiting(error_of(answer.result));
            after_a_while([this] { queue_.look_up_again(); }); // who left is still looked for
        }
    }));
}

void lock_path::send_inspect(const contender_ptr& contender, const std::string& node)
{
    session_.store.get(full(node), true, expect([this, contender, node](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok: {
            const bool ours = answer.stat.ephemeral_owner == session_.id();
            queue_.inspected(contender->id, node, ours);
            if (ours)
                contender->setback = errc::lost;
            look_at_data(node, answer.data);
            if (ours && contender->listens())
                contender->queued(full(node));
            if (ours)
                take_czxid(*contender, answer.stat.czxid);
            return;
        }
        case outcome::no_node:
            if (queue_.owns(node))
                session_.own_writes.found_gone(full(node));
            return queue_.node_gone(node);
        case outcome::unknown: return queue_.inspect_unknown(contender->id);
        default: // it is ours, but what it is worth cannot be known
            queue_.watch_failed(node);
            contender->fail(error_of(answer.result));
            if (queue_.own().knows(contender->id))
                queue_.leave(contender->id);
        }
    }));
}

void lock_path::send_watch(const std::string& node)
{
    session_.store.get(full(node), true, expect([this, node](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            queue_.watched(node, answer.stat.ephemeral_owner == 0);
            look_at_data(node, answer.data);
            if (handoffs_ && answer.stat.ephemeral_owner != session_.id())
                handoffs_->look_at(node, answer.data);
            return;
        case outcome::no_node:
            if (queue_.owns(node))
                session_.own_writes.found_gone(full(node));
            return queue_.node_gone(node);
        case outcome::unknown: return queue_.watch_failed(node);
        default:
            fail_waiting(error_of(answer.result));
            after_a_while([this, node] { queue_.watch_failed(node); }); // a holder goes on asking for its own
        }
    }));
}

/// A read of a node of ours that holds on comes with its watch, or with a check of the version that was read: so nobody
/// asks us to let go unseen.
void lock_path::look_at_data(const std::string& node, std::string_view data)
{
    if (data != queue::revocation_request)
        return;
    const contender_ptr* const its = contenders_.find(queue_.contender_of(node));
    if (!its)
        return;
    if (session_.log.on(log_level::info) && !queue_.own().revoked((*its)->id))
        session_.log(log_level::info, "is asked to let go of ", path_, ": ", node);
    queue_.revoke((*its)->id);
    (*its)->revoke();
}

/// Both or none: so nobody sees the path without one of the two. It can be repeated when the answer was lost. The
/// reader's node is to say what the writer's says at that moment, which may be a request to let go: so its version must
/// be the one that goes with those data.
void lock_path::send_downgrade(const contender_ptr& contender, const std::string& node, std::string_view data,
                               std::int32_t version)
{
    using kind = store::batch_write::kind;
    contender->leaves_its_node();
    const std::string writer = full(node);
    const std::string reader = full(queue::reader_name(node));
    session_.own_writes.may_be_gone(writer);
    store::batch_write both[2];
    both[0].what = kind::create;
    both[0].path = reader;
    both[0].data = data;
    both[0].created = store::node_kind::ephemeral;
    both[0].access = contender->access();
    both[1].what = kind::remove;
    both[1].path = writer;
    both[1].version = version;
    const auto answered = expect([this, contender, node](const store::batch_reply& answer) {
        session_.wrote(answer);
        const queue::contender_id id = contender->id;
        switch (answer.result) {
        case outcome::ok:
            session_.own_writes.made(full(queue::reader_name(node)));
            return queue_.downgraded(id);
        case outcome::node_exists: return queue_.downgraded(id, true); // by the one whose answer was lost
        case outcome::no_node: return queue_.downgrade_lost(id);
        case outcome::unknown: return queue_.downgrade_unknown(id);
        case outcome::bad_version: return downgrade_as_found(contender, node);
        default:
            notice_refusal(answer.result);
            look_for_downgraded(contender, node, error_of(answer.result));
        }
    });
    const std::span<const store::batch_write> all(both);
    session_.store.batch(all, answered);
}

/// Somebody has written on the writer's node.
void lock_path::downgrade_as_found(const contender_ptr& contender, const std::string& node)
{
    session_.store.get(full(node), false, expect([this, contender, node](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            if (!contender->holding()) // the node is to go
                return queue_.downgrade_refused(contender->id);
            look_at_data(node, answer.data);
            return send_downgrade(contender, node, answer.data, answer.stat.version);
        case outcome::no_node: return queue_.downgrade_lost(contender->id);
        case outcome::unknown: return queue_.downgrade_unknown(contender->id);
        default: return look_for_downgraded(contender, node, error_of(answer.result));
        }
    }));
}

/// What was refused may be the repetition of one that was done, and whose answer was lost. A client that may not
/// write may still ask whether a node exists; and the refusal, like every answer to a write, comes after all that was
/// done before it. A server that checks who may read it (3.8.4, 3.9.2 and later) checks a node that is there: `no_auth`
/// says so, too.
void lock_path::look_for_downgraded(const contender_ptr& contender, const std::string& node, errc refused)
{
    const auto answered = [this, contender, node, refused](const store::stat_reply& answer) {
        const queue::contender_id id = contender->id;
        switch (answer.result) {
        case outcome::ok:
        case outcome::no_auth: return queue_.downgraded(id, true);
        case outcome::no_node:
            contender->finish_downgrade(refused, full(node));
            return queue_.downgrade_refused(id);
        case outcome::unknown: return queue_.downgrade_unknown(id);
        default: // once more: another answer to it has to come first
            after_a_while([this, id] { queue_.downgrade_unknown(id); });
        }
    };
    session_.store.exists(full(queue::reader_name(node)), false, expect(answered));
}

void lock_path::grant(lock_contender& contender, const queue::action& action, store::scheduler::time_point now)
{
    std::string node = full(queue_.own().node(contender.id));
    if (handoffs_) {
        lock_contender* const before = action.from != 0 ? contenders_.at(action.from).get() : nullptr;
        handoffs_->granted(contender, before, action);
        if (action.by_certificate)
            log_handoff(contender);
    }
    if (action.from != 0) {
        lock_contender& before = *contenders_.at(action.from);
        contender.czxid = before.czxid;
        contender.grants_before = before.grants_before + 1;
        if (contender.reserved == 0) // or else it has room already, of a node that others deleted
            contender.reserved = std::exchange(before.reserved, 0);
    }
    contender.grant(std::move(node), contender.czxid * grants_of_a_czxid + contender.grants_before, now);
    session_.tokens.granted_by(contender.czxid);
    session_.lease.granted(*this);
}

void lock_path::log_handoff(const lock_contender& contender) const noexcept
{
    if (!session_.log.on(log_level::debug))
        return;
    const std::string_view node = queue_.passed_over_by(contender.id);
    const std::string_view endpoint = handoffs_->asked_at(node);
    session_.log(log_level::debug, "granted ", path_, " by word of who let it go, before the servers told of it: ",
                 node, endpoint.empty() ? "" : " at ", endpoint);
}

/// One timer serves many releases: it looks how long ago the last one was.
void lock_path::plan_end_of_lingering()
{
    if (linger_timer_ != 0)
        return;
    linger_timer_ = session_.scheduler.call_at(lingers_since_ + options_.linger, [this] {
        linger_timer_ = 0;
        end_lingering();
    });
}

void lock_path::end_lingering()
{
    if (queue_.own().lingering() == nullptr)
        return;
    if (session_.scheduler.now() < lingers_since_ + options_.linger)
        return plan_end_of_lingering();
    queue_.stop_lingering();
    advance();
}

} // namespace zklock::recipes

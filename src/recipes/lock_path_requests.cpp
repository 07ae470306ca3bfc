// What the lock_queue wants done, as requests and news: the second half of lock_path.
#include "recipes/lock_path.hpp"

#include "queue/mutants.hpp"
#include "queue/node_name.hpp"
#include "recipes/error_mapping.hpp"

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

void lock_path::perform(const queue::action& action)
{
    using kind = queue::action::kind;
    const auto contender = [&] { return contenders_.at(action.id); };
    switch (action.what) {
    case kind::synchronize:
        core_.store.sync(path_, expect([this](const store::reply& answer) {
            core_.heard(answer);
            synced_ = answer.result == outcome::ok;
        }));
        break;
    case kind::watch_parent: send_parent_watch(); break;
    case kind::read_children: send_read(false); break;
    case kind::watch_children: send_read(true); break;
    case kind::inspect: send_inspect(contender(), action.node); break;
    case kind::watch: send_watch(action.node); break;
    case kind::unwatch:
        core_.store.unwatch(full(action.node),
                            expect([this, node = action.node](const store::reply&) { queue_.unwatched(node); }));
        break;
    case kind::remove:
        (action.may_wait ? removes_ : urgent_removes_).push_back(action.id);
        core_.writes.join(*this, !action.may_wait);
        break;
    case kind::granted: grant(*contender(), action.from); break;
    case kind::refused: contender()->fail(errc::busy); break;
    case kind::lost:
        contender()->lose();
        forget(action.id);
        break;
    case kind::lingers:
        contender()->finish_release({});
        lingers_since_ = core_.scheduler.now();
        plan_end_of_lingering();
        break;
    case kind::gone:
        contender()->finish_release({});
        forget(action.id);
        break;
    }
}

void lock_path::send_parent_watch()
{
    core_.store.get(path_, true, expect([this](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            return queue_.parent_watched(answer.stat.num_children, children_ever(answer.stat), answer.stat.pzxid);
        case outcome::no_node: return queue_.parent_absent();
        default:
            queue_.parent_watch_failed();
            if (answer.result != outcome::unknown)
                fail_waiting(error_of(answer.result));
        }
    }));
}

void lock_path::send_read(bool watch)
{
    core_.store.children(path_, watch, expect([this](const store::children_reply& answer) {
        static const std::vector<std::string> none;
        switch (answer.result) {
        case outcome::ok: return queue_.children_read(*answer.names, children_ever(answer.stat), synced_);
        case outcome::no_node:
            queue_.children_read(none, 0, synced_);
            return queue_.parent_absent(); // nor is there a watch
        case outcome::unknown: return queue_.read_failed();
        default:
            queue_.read_refused();
            fail_waiting(error_of(answer.result));
            after_a_while([this] { queue_.look_up_again(); }); // who left is still looked for
        }
    }));
}

void lock_path::send_inspect(const contender_ptr& contender, const std::string& node)
{
    core_.store.get(full(node), true, expect([this, contender, node](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok: {
            const bool ours = answer.stat.ephemeral_owner == core_.session_id;
            queue_.inspected(contender->id, node, ours);
            if (ours && ZKLOCK_MUTANT(token_not_read_after_a_look_up))
                queue_.numbered(contender->id, 0);
            else if (ours)
                number(*contender, answer.stat.czxid);
            return;
        }
        case outcome::no_node: return queue_.node_gone(node);
        case outcome::unknown: return queue_.inspect_unknown(contender->id);
        default: // it is ours, but what it is worth cannot be known
            queue_.watch_failed(node);
            contender->fail(error_of(answer.result));
            if (queue_.knows(contender->id))
                queue_.leave(contender->id);
        }
    }));
}

void lock_path::send_watch(const std::string& node)
{
    core_.store.get(full(node), true, expect([this, node](const store::get_reply& answer) {
        switch (answer.result) {
        case outcome::ok:
            queue_.watched(node);
            if (answer.stat.ephemeral_owner == core_.session_id && queue_.is_orphan(node))
                remove_orphan(node);
            return;
        case outcome::no_node:
            if (ZKLOCK_MUTANT(no_second_look_at_a_predecessor_gone))
                return queue_.watched(node);
            return queue_.node_gone(node);
        case outcome::unknown: return queue_.watch_failed(node);
        default:
            fail_waiting(error_of(answer.result));
            after_a_while([this, node] { queue_.watch_failed(node); }); // a holder goes on asking for its own
        }
    }));
}

/// Nobody would ever delete it, and everybody would wait for it. If this fails too, the next watch will show it again.
void lock_path::remove_orphan(const std::string& node)
{
    core_.store.remove(full(node), store::any_version, expect([this, node](const store::reply& answer) {
        if (answer.result == outcome::ok || answer.result == outcome::no_node)
            queue_.node_gone(node);
        else if (answer.result != outcome::unknown)
            after_a_while([this, node] { queue_.watch_fired(node); }); // it is looked at again
    }));
}

void lock_path::after_a_while(std::function<void()> f)
{
    constexpr std::chrono::seconds before_next_try{1};
    ++answers_due_;
    core_.later(before_next_try, [this, f = std::move(f)] {
        --answers_due_;
        f();
        advance();
    });
}

void lock_path::grant(lock_contender& contender, queue::contender_id from)
{
    if (from != 0) {
        lock_contender& before = *contenders_.at(from);
        contender.czxid = before.czxid;
        contender.turn = before.turn + (ZKLOCK_MUTANT(turn_not_counted_on) ? 0 : 1);
        contender.further_turns = before.further_turns - 1;
        if (contender.reserved == 0) // or else it has room already, of a node that others deleted
            contender.reserved = std::exchange(before.reserved, 0);
    }
    contender.grant(full(queue_.node(contender.id)), contender.czxid * turns_of_a_czxid + contender.turn);
    holder_ = contender.id;
    held_since_ = core_.scheduler.now();
    core_.granted(*this);
}

/// One timer serves many releases: it looks how long ago the last one was.
void lock_path::plan_end_of_lingering()
{
    if (linger_timer_ != 0)
        return;
    linger_timer_ = core_.scheduler.call_at(lingers_since_ + options_.linger, [this] {
        linger_timer_ = 0;
        if (!queue_.lingering())
            return;
        if (core_.scheduler.now() < lingers_since_ + options_.linger)
            return plan_end_of_lingering();
        queue_.stop_lingering();
        advance();
    });
}

} // namespace zklock::recipes

// What the lock_queue wants done, as requests and news: the second half of lock_path.
#include "recipes/lock_path.hpp"

#include "queue/mutants.hpp"
#include "queue/node_name.hpp"
#include "recipes/error_mapping.hpp"

#include <utility>
#include <vector>

namespace zklock::recipes {

using store::outcome;

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
    case kind::read_children: send_read(); break;
    case kind::inspect: send_inspect(contender(), action.node); break;
    case kind::watch: send_watch(action.node); break;
    case kind::unwatch:
        core_.store.unwatch(full(action.node),
                            expect([this, node = action.node](const store::reply&) { queue_.unwatched(node); }));
        break;
    case kind::remove: send_remove(contender(), action.node); break;
    case kind::granted: grant(*contender()); break;
    case kind::refused: contender()->fail(errc::busy); break;
    case kind::lost:
        contender()->lose();
        forget(action.id);
        break;
    case kind::gone:
        contender()->finish_release({});
        forget(action.id);
        break;
    }
}

void lock_path::send_read()
{
    core_.store.children(path_, false, expect([this](const store::children_reply& answer) {
        static const std::vector<std::string> none;
        switch (answer.result) {
        case outcome::ok: return queue_.children_read(*answer.names, synced_);
        case outcome::no_node: return queue_.children_read(none, synced_);
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
            if (ours && contender->waiting() && !ZKLOCK_MUTANT(token_not_read_after_a_look_up))
                numbered(*contender, answer.stat.czxid, queue::sequence_of(node).value_or(queue::sequence_limit));
            return queue_.inspected(contender->id, node, ours);
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
        case outcome::ok: return queue_.watched(node);
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

void lock_path::send_remove(const contender_ptr& contender, const std::string& node)
{
    core_.store.remove(full(node), store::any_version, expect([this, contender, node](const store::reply& answer) {
        core_.heard(answer);
        switch (answer.result) {
        case outcome::ok:
        case outcome::no_node: return queue_.removed(contender->id);
        case outcome::unknown:
            if (ZKLOCK_MUTANT(unknown_delete_counts_as_done))
                return queue_.removed(contender->id);
            return queue_.remove_failed(contender->id);
        default: // forbidden for now, say: the caller hears of it, and it is tried again until the session ends
            queue_.remove_failed(contender->id);
            contender->finish_release(error_of(answer.result));
            after_a_while([this, id = contender->id] { queue_.retry_remove(id); });
        }
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

void lock_path::grant(lock_contender& contender)
{
    constexpr std::int64_t turns = 4096; // grants that one czxid can tell apart
    contender.grant(full(queue_.node(contender.id)), contender.czxid * turns);
    holder_ = contender.id;
    held_since_ = core_.scheduler.now();
    core_.granted(*this);
}

} // namespace zklock::recipes

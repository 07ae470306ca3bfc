#include "recipes/locks/lock_looks.hpp"

#include "queue/those_before.hpp"
#include "recipes/locks/lock_path.hpp"

#include <cstddef>

namespace zklock::recipes {

using store::outcome;

void lock_looks::look(const contender_ptr& contender)
{
    if (!session_.connected())
        return refuse(*contender, errc::not_connected);
    if (overtaken(*contender))
        return refuse_as_busy(*contender, excludes_newcomers(queue_.known(), contender->kind()));
    if (queue_.own().lingering() != nullptr)
        return queue_.join(contender->id, true, contender->kind());
    if (looks_.add(contender))
        send();
}

/// Behind others of ours it would wait: for readers who hold it, if nothing else, or for the node budget.
bool lock_looks::overtaken(const lock_contender& contender) const
{
    return queue_.own().contended(contender.kind()) ||
           (queue_.own().with_node() != 0 && lock_.nodes().waits_for_budget());
}

/// Ends the wait of one that looks once.
void lock_looks::refuse(lock_contender& contender, errc why)
{
    contender.fail(why);
    lock_.forget(contender.id);
}

void lock_looks::refuse_as_busy(lock_contender& contender, bool for_others)
{
    contender.note_refusal(for_others);
    refuse(contender, errc::busy);
}

void lock_looks::send()
{
    const std::uint64_t grants = session_.catch_up().with_handoffs();
    session_.store.children(lock_.path(), false, lock_.expect([this, grants](const store::children_reply& answer) {
        lock_.notice_refusal(answer.result);
        seen_busy seen{};
        looks_.answered(
            session_, answer.result, grants, [&](lock_contender& each) { on_look(each, answer, seen); },
            [&] { send(); }, [&](lock_contender& each, errc why) { refuse(each, why); });
    }));
    looks_.sent();
}

void lock_looks::on_look(lock_contender& contender, const store::children_reply& answer, seen_busy& seen)
{
    if (!contender.waiting())
        return lock_.forget(contender.id);
    std::optional<bool>& busy = seen.at(static_cast<std::size_t>(contender.kind()));
    if (!busy)
        busy = answer.result == outcome::ok && queue_.known().busy(*answer.names, contender.kind());
    if (overtaken(contender) || *busy)
        return refuse_as_busy(contender, *busy || excludes_newcomers(queue_.known(), contender.kind()));
    queue_.join(contender.id, true, contender.kind());
}

} // namespace zklock::recipes

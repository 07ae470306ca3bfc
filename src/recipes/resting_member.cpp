#include "recipes/resting_member.hpp"

#include "queue/mutants.hpp"

#include <utility>

namespace zklock::recipes {

using store::outcome;

resting_member::~resting_member()
{
    if (place_ == place::resting)
        rests_with_->forget(*this);
    else if (place_ != place::nowhere)
        core_.containers.forget(*this);
}

void resting_member::tell_if_idle()
{
    if (place_ != place::nowhere || idle_told_ || !idle())
        return;
    core_.tell([this_ones = on_idle_, &core = core_] { core.attempt(this_ones); });
    idle_told_ = true;
}

void resting_member::retire()
{
    if (place_ == place::resting)
        rests_with_->forget(*this);
    if (!idle() || place_ != place::nowhere)
        return;
    used_ = false;
    if (next_making().made->any() && !ZKLOCK_MUTANT(containers_stay))
        return core_.containers.enter(*this);
    retired_ = true;
    retire_the_rest();
}

void resting_member::on_container_removed(made_containers& made, const made_container& which, outcome result)
{
    if (result == outcome::ok || result == outcome::no_node) {
        own_path_gone();
        made.remove(which);
    } else if (result != outcome::unknown) {
        made.remove_from(which); // it is not ours any more, or not empty: then those above are not empty either
    }
    if (result != outcome::unknown && leaves())
        retire();
    advance(); // if it is in use again, or the answer was lost: then it rests once more
}

void resting_member::leave_containers()
{
    while (next_making().made->any())
        next_making().made->clear();
    retire();
}

// --- a list of them --------------------------------------------------------------------------------------------------

resting_members::~resting_members()
{
    core_.scheduler.cancel(timer_);
    while (!members_.empty())
        forget(members_.front());
}

void resting_members::add(resting_member& member)
{
    if (member.place_ != resting_member::place::nowhere)
        return; // the news of one that it has replaced came, too
    member.place_ = resting_member::place::resting;
    member.rests_with_ = this;
    members_.push_back(member);
    if (members_.size() > most_)
        look_at_first(false);
    if (timer_ == 0)
        plan_look();
}

void resting_members::forget(resting_member& member) noexcept
{
    members_.erase(members_.iterator_to(member));
    member.place_ = resting_member::place::nowhere;
}

void resting_members::look_at_first(bool spare_used)
{
    resting_member& member = members_.front();
    forget(member);
    const bool used = std::exchange(member.used_, false);
    if (!member.idle())
        return; // it will tell
    if (used && spare_used)
        add(member);
    else
        member.retire();
}

void resting_members::plan_look()
{
    const auto when = core_.scheduler.now() + core_.options.session_timeout / 2;
    timer_ = core_.scheduler.call_at(when, [this] {
        timer_ = 0;
        core_.attempt([this] {
            for (std::size_t n = members_.size(); n != 0; --n)
                look_at_first(true);
        });
        if (!members_.empty() && timer_ == 0)
            plan_look();
    });
}

} // namespace zklock::recipes

#include "recipes/session/recipe_path.hpp"

#include "recipes/session/error_mapping.hpp"
#include "recipes/session/option_faults.hpp"

namespace zklock::recipes {

using store::outcome;

recipe_path::~recipe_path()
{
    if (place_ == place::resting)
        rests_with_->forget(*this);
    else if (place_ != place::nowhere)
        session_.containers().forget(*this);
}

void recipe_path::tell_if_idle()
{
    if (place_ != place::nowhere || idle_told_ || !idle())
        return;
    session_.news().tell(on_idle_);
    idle_told_ = true;
}

void recipe_path::make_path(parent_maker& maker, const std::string& path, parent_kind kind,
                            const std::optional<access_list>& access)
{
    session_.own_writes().all_found_gone(path); // a create has not found it
    answer_due();
    maker.make(path, kind, access, [this, access](outcome result) {
        answer_came();
        log_refusal(session_, path_, access, result);
        if (result == outcome::ok || result == outcome::unknown)
            path_answered({});
        else
            path_answered(result == outcome::no_node ? errc::no_such_chroot : error_of(result));
        if (result == outcome::unknown)
            session_.contact_lost();
        advance();
    });
}

void recipe_path::retire()
{
    if (place_ == place::resting)
        rests_with_->forget(*this);
    if (!idle() || place_ != place::nowhere)
        return;
    used_ = false;
    if (next_making().made->any())
        return session_.containers().enter(*this);
    retired_ = true;
    retire_the_rest();
}

void recipe_path::on_container_removed(made_containers& made, const made_container& which, outcome result)
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

void recipe_path::leave_containers()
{
    while (next_making().made->any())
        next_making().made->clear();
    retire();
}

// --- a list of them --------------------------------------------------------------------------------------------------

resting_paths::~resting_paths()
{
    session_.scheduler.cancel(timer_);
    while (!members_.empty())
        forget(members_.front());
}

void resting_paths::add(recipe_path& member)
{
    if (member.place_ != recipe_path::place::nowhere)
        return; // the news of one that it has replaced came, too
    member.place_ = recipe_path::place::resting;
    member.rests_with_ = this;
    members_.push_back(member);
    if (members_.size() > most_)
        look_at_first(false);
    if (timer_ == 0)
        plan_look();
}

void resting_paths::forget(recipe_path& member) noexcept
{
    members_.erase(members_.iterator_to(member));
    member.place_ = recipe_path::place::nowhere;
}

void resting_paths::look_at_first(bool spare_used)
{
    recipe_path& member = members_.front();
    forget(member);
    const bool used = std::exchange(member.used_, false);
    if (!member.idle())
        return; // it will tell
    if (used && spare_used)
        add(member);
    else
        member.retire();
}

void resting_paths::plan_look()
{
    const auto when = session_.scheduler.now() + session_.options.session_timeout / 2;
    timer_ = session_.scheduler.call_at(when, [this] {
        timer_ = 0;
        for (std::size_t n = members_.size(); n != 0; --n)
            look_at_first(true);
        if (!members_.empty() && timer_ == 0)
            plan_look();
    });
}

} // namespace zklock::recipes

#include "recipes/lock_contender.hpp"

#include "queue/mutants.hpp"
#include "recipes/lock_path.hpp"

#include <utility>

namespace zklock::recipes {

lock_contender::lock_contender(session_core& core, lock_path* path, queue::contender_id the_id, acquire_request request)
    : id(the_id), core_(core), path_(path), request_(std::move(request))
{
}

const std::string& lock_contender::data() const noexcept
{
    const std::string& own = request_.options.identifier;
    return own.empty() ? core_.options.identifier : own;
}

void lock_contender::arm_deadline()
{
    if (!request_.deadline)
        return;
    const auto again = *request_.deadline - core_.scheduler.now();
    const auto when = *request_.deadline + (ZKLOCK_MUTANT(deadline_restarted) ? again : again.zero());
    deadline_ = core_.scheduler.call_at(when, [this] {
        deadline_ = 0;
        path_->give_up(*this, errc::timed_out);
    });
}

void lock_contender::end_wait(state next)
{
    core_.scheduler.cancel(std::exchange(deadline_, 0));
    state_ = next;
}

bool lock_contender::withdraw()
{
    if (!waiting() || !path_)
        return false;
    end_wait(state::done);
    request_.done = nullptr;
    request_.lost = nullptr;
    if (ZKLOCK_MUTANT(withdrawn_node_stays)) {
        request_.done = [](error_code, const recipes::grant&) {};
        return true;
    }
    path_->leave(*this);
    return true;
}

void lock_contender::grant(std::string node, std::int64_t fencing_token)
{
    term_ = core_.term();
    notice_ = core_.loss_notice();
    end_wait(state::held);
    core_.tell([done = std::exchange(request_.done, nullptr), given = recipes::grant{std::move(node), fencing_token}] {
        done({}, given);
    });
}

void lock_contender::fail(errc why)
{
    if (!waiting())
        return;
    end_wait(state::done);
    request_.lost = nullptr;
    core_.tell([done = std::exchange(request_.done, nullptr), why] { done(why, {}); });
}

void lock_contender::lose()
{
    if (!holding())
        return;
    state_ = state::lost;
    if (ZKLOCK_MUTANT(loss_not_told))
        return;
    core_.tell([self = shared_from_this()] {
        if (self->request_.lost) // not released meanwhile
            std::exchange(self->request_.lost, nullptr)();
    });
}

void lock_contender::release(std::function<void(error_code)> released)
{
    core_.notice_lapse(core_.scheduler.now());
    if (!ZKLOCK_MUTANT(loss_told_after_the_release))
        request_.lost = nullptr;
    if (holding() && path_) {
        state_ = state::done;
        released_ = std::move(released);
        path_->leave(*this);
    } else if (released) {
        const error_code ec = state_ == state::lost ? errc::lost : errc::not_owner;
        core_.tell([released = std::move(released), ec] { released(ec); });
    }
}

void lock_contender::finish_release(error_code ec)
{
    if (released_)
        core_.tell([released = std::exchange(released_, nullptr), ec] { released(ec); });
}

void lock_contender::detach() noexcept
{
    path_ = nullptr;
    request_.done = nullptr;
    request_.lost = nullptr;
    released_ = nullptr;
    state_ = state_ == state::held ? state::lost : state_.load();
}

bool lock_contender::held(store::scheduler::time_point now) const noexcept
{
    return holding() && now < term_->until() - notice_;
}

store::scheduler::time_point lock_contender::held_until() const noexcept
{
    return state_ == state::lost ? store::scheduler::time_point{} : term_->until();
}

} // namespace zklock::recipes

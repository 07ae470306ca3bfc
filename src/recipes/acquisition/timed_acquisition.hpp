#pragma once
#include "recipes/acquisition/acquisition.hpp"
#include "recipes/session/session.hpp"
#include "store/scheduler.hpp"

#include <cassert>
#include <utility>

namespace zklock::recipes {

/// An acquisition whose wait ends at a deadline. What its caller is to hear then is looked for shortly before, and put
/// together at the deadline, as long as it is known.
class timed_acquisition : public told_acquisition {
public:
    ~timed_acquisition() override { assert(timer_ == 0); } // or the timer would call one who is gone

    [[nodiscard]] known_wait describe_wait() final
    {
        return report_.tell([this] { return waits_for(); });
    }

    [[nodiscard]] bool refused_for_others() const noexcept final { return refused_for_others_; }

    /// To be called before it is refused, with `errc::busy`, as one that looks once.
    void note_refusal(bool for_others) noexcept { refused_for_others_ = for_others; }
    /// Arms the timer for the deadline, if there is a deadline and the timer is not armed.
    void arm_deadline();
    /// To be called when the wait is over, and at the latest before this is destroyed.
    void disarm_deadline() noexcept { session_.scheduler.cancel(std::exchange(timer_, 0)); }

protected:
    timed_acquisition(session& s, acquire_call&& call) noexcept : told_acquisition(std::move(call)), session_(s) {}

    /// The result is empty once it does not wait.
    [[nodiscard]] virtual known_wait waits_for() = 0;
    /// Ends the wait, for that reason. Called once, at the deadline, in no step of the session's.
    virtual void time_out(errc why) = 0;

    session& session_;

private:
    /// Arms the timer for the deadline itself, and has what it waits for looked for.
    void deadline_is_near();

    kept_report report_;
    bool refused_for_others_ = false;
    store::scheduler::timer_id timer_ = 0; ///< for the deadline, or shortly before it
};

} // namespace zklock::recipes

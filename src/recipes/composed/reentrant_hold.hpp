#pragma once
#include "recipes/acquisition/timed_acquisition.hpp"
#include "recipes/composed/reentrant_locks.hpp"
#include "recipes/session/session.hpp"
#include "store/scheduler.hpp"
#include "store/unique_function.hpp"
#include "zklock/errc.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zklock::recipes {

/// One acquire of an owner: it waits, then is one of the holds that its owner has on the path, until it is released.
class reentrant_locks::hold final : public timed_acquisition, public std::enable_shared_from_this<hold> {
public:
    /// Without a tenure it can only fail.
    hold(session&, std::weak_ptr<tenure>, acquire_call, queue::contender_kind);

    bool withdraw() override;
    void expect_time_out() override;
    void release(store::unique_function<void(error_code)> released) override;
    void note_unseen() noexcept override;
    void on_revoked(std::function<void()> asked) override;
    /// Its owner may have got another node since, in the place of the one that was given.
    [[nodiscard]] bool stands_on(const grant& given) const noexcept override;
    [[nodiscard]] std::vector<std::string> nodes_of(const grant& given) const override;
    [[nodiscard]] const std::string& path() const noexcept override { return lock_->path(); }
    [[nodiscard]] bool held(store::scheduler::time_point now) const noexcept override
    {
        return active_ && lock_->held(now);
    }
    [[nodiscard]] std::optional<lock_loss> loss(store::scheduler::time_point now) const noexcept override
    {
        return lock_->loss(now);
    }
    [[nodiscard]] store::scheduler::time_point held_until() const noexcept override { return lock_->held_until(); }

    // --- for its tenure ----------------------------------------------------------------------------------------------

    [[nodiscard]] acquire_mode mode() const noexcept { return call_.mode; }
    [[nodiscard]] queue::contender_kind kind() const noexcept { return kind_; }
    [[nodiscard]] bool reads() const noexcept { return kind_ == queue::contender_kind::reader; }
    /// Its owner has that lock, and this hold counts from now on.
    void begin(std::shared_ptr<acquisition> lock) noexcept;
    /// It does not count any more.
    void end() noexcept { active_ = false; }
    /// Tells that the wait is over, one way or another.
    void end_wait(error_code, grant);
    /// The caller knows how the wait has ended.
    [[nodiscard]] bool told() const noexcept { return told_; }
    /// The caller knows of the grant, and has not released it.
    [[nodiscard]] bool granted() const noexcept { return told_ && active_; }
    void lose();
    /// Its owner is asked to let go.
    void revoke();
    /// Nobody will be told anything any more.
    void forget_caller() noexcept;
    void on_release(store::unique_function<void(error_code)> released) noexcept { released_ = std::move(released); }
    /// Tells the caller of release(), later, that its owner has the lock still, or has lost it.
    void tell_released(error_code);
    /// Tells the caller of release(), now.
    void finish_release(error_code);

    /// Why it waits no longer, though it could not leave: the result of the acquire that it has joined was on its way.
    error_code given_up;

private:
    [[nodiscard]] std::optional<store::scheduler::time_point> deadline() const noexcept override
    {
        return call_.deadline;
    }
    [[nodiscard]] known_wait waits_for() override;
    void time_out(errc why) override { give_up(make_error_code(why)); }
    void give_up(error_code why);

    std::weak_ptr<tenure> where_;
    acquire_call call_;
    const queue::contender_kind kind_;
    std::shared_ptr<acquisition> lock_; ///< set before the grant is told, and not changed after
    std::function<void()> asked_;       ///< to be called when its owner is asked to let go
    store::unique_function<void(error_code)> released_;
    std::atomic<bool> active_{false}; ///< granted and not released
    bool told_ = false;
};

} // namespace zklock::recipes

#pragma once
#include "recipes/acquisition/timed_acquisition.hpp"
#include "recipes/composed/reentrant_locks.hpp"
#include "recipes/session/session.hpp"
#include "store/if_alive.hpp"
#include "store/scheduler.hpp"
#include "store/unique_function.hpp"
#include "zklock/errc.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zklock::recipes {

/// One owner on one path, from its first acquire until its last hold is released. All its acquires share one contender.
class reentrant_locks::tenure final : public std::enable_shared_from_this<tenure> {
public:
    using hold_ptr = std::shared_ptr<hold>;

    /// `shared`: its contenders are readers and writers.
    tenure(reentrant_locks&, key who, shared_options, bool shared);
    tenure& operator=(tenure&&) = delete;

    /// Nobody will be told anything any more, and its holds count no more.
    void detach();

    [[nodiscard]] const shared_options& options() const noexcept { return options_; }
    [[nodiscard]] bool shared() const noexcept { return shared_; }
    /// The kind of its contender, or of the last one.
    [[nodiscard]] queue::contender_kind kind() const noexcept { return kind_; }

    /// One acquire more: it enters again, or waits.
    void add(const hold_ptr&);
    /// Asks the contender, as describe_wait() does, as long as that waits.
    void expect_time_out();
    [[nodiscard]] known_wait describe_wait() { return lock_ && !granted_ ? lock_->describe_wait() : known_wait(); }
    /// Ends a wait. False if the result is on its way already: it is told, but `cancelled()` in place of an error.
    bool withdraw(const hold_ptr&);
    /// Ends a wait at its deadline: at once, or when the result comes.
    void give_up(const hold_ptr&, error_code why);
    void release(const hold_ptr&, store::unique_function<void(error_code)> released);
    /// Nobody has looked at the grant: the release of its only hold tells that.
    void note_unseen() noexcept
    {
        if (lock_ && held_.size() == 1)
            lock_->note_unseen();
    }
    /// One of its holds wants to know when the owner is asked to let go, or whether he was.
    void watch_for_revocation(const hold_ptr&);
    /// The node of the contender that holds, and whether no request is under way that makes another of it.
    [[nodiscard]] const std::string& node() const noexcept { return grant_.node; }
    [[nodiscard]] bool stands_on_its_node() const noexcept { return lock_ && lock_->stands_on(grant_); }
    /// Ends the tenure if nobody waits or holds.
    void close_if_unused() noexcept;

private:
    using holds = std::list<hold_ptr>;

    // how acquires end
    [[nodiscard]] bool may_join(const hold& h) const noexcept;
    void start();
    void wait_as_readers();
    void on_done(error_code, grant);
    void on_failed(error_code, const grant&);
    bool leave(const hold_ptr&);
    void fail_later(const hold_ptr&, errc why);
    void tell_granted(hold&);

    // while the lock is held
    /// The owner has the lock still. A lease that has ended unnoticed cannot come back: it is noticed before anything
    /// renews it.
    [[nodiscard]] bool ours() const { return !lost_ && lock_->held(all_.scheduler_.now()); }
    void enter_again(const hold_ptr&);
    void tell_entered(hold&);
    void release_one(const hold_ptr&, bool last_writer, store::unique_function<void(error_code)> released);
    void release_lock(const hold_ptr&, store::unique_function<void(error_code)> released);
    void read_on(hold_ptr last_writer);
    void on_read_on(error_code, grant);
    void on_lost();
    void on_revoked();
    template <class Tell> void tell_holders(Tell tell);
    void count();

    reentrant_locks& all_; ///< a hold may keep a tenure for longer, but detach() comes first
    const key who_;
    const shared_options options_;
    const bool shared_;
    std::shared_ptr<acquisition> lock_;                         ///< the contender, from its start to its release
    acquire_mode mode_ = acquire_mode::wait;                    ///< the contender's
    queue::contender_kind kind_ = queue::contender_kind::mutex; ///< the contender's, as it was made
    std::uint64_t starts_ = 0;                                  ///< of contenders
    std::uint64_t now_ = 0; ///< which of those is the contender: what others come to does not matter
    bool granted_ = false;
    bool lost_ = false;
    bool revoked_ = false; ///< asked to let go
    bool watches_ = false; ///< for that
    grant grant_;          ///< the contender's, with the node that it has
    holds waiting_;
    holds held_;
    std::size_t readers_ = 0;   ///< of those who hold
    hold_ptr last_writer_;      ///< its release waits for the contender to become a reader
    std::uint64_t changes_ = 0; ///< of those who hold
};

/// One acquire of an owner: it waits, then is one of the holds that its owner has on the path, until it is released.
class reentrant_locks::hold final : public timed_acquisition, public std::enable_shared_from_this<hold> {
public:
    /// Without a tenure it can only fail.
    hold(session& s, std::shared_ptr<tenure> where, acquire_call call, queue::contender_kind kind)
        : timed_acquisition(s, std::move(call)), where_(std::move(where)), kind_(kind)
    {
    }

    bool withdraw() override { return where_ && where_->withdraw(shared_from_this()); }
    void expect_time_out() override
    {
        if (where_)
            where_->expect_time_out();
    }
    void release(store::unique_function<void(error_code)> released) override;
    void note_unseen() noexcept override { where_->note_unseen(); }
    void on_revoked(std::function<void()> asked) override;
    /// Its owner may have got another node since, in the place of the one that was given.
    [[nodiscard]] bool stands_on(const grant&) const noexcept override { return where_->stands_on_its_node(); }
    [[nodiscard]] std::vector<std::string> nodes_of(const grant&) const override { return {where_->node()}; }
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
    void on_release(store::unique_function<void(error_code)> released) { begin_release(std::move(released)); }
    /// Tells the caller of release(), later, that its owner has the lock still, or has lost it.
    void tell_released(error_code);

    /// Why it waits no longer, though it could not leave: the result of the acquire that it has joined was on its way.
    error_code given_up;

private:
    [[nodiscard]] known_wait waits_for() override { return where_ && !told_ ? where_->describe_wait() : known_wait(); }
    void time_out(errc why) override { where_->give_up(shared_from_this(), make_error_code(why)); }

    const std::shared_ptr<tenure> where_; ///< null: it can only fail
    const queue::contender_kind kind_;
    std::shared_ptr<acquisition> lock_; ///< set before the grant is told, and not changed after
    std::atomic<bool> active_{false};   ///< granted and not released
    bool told_ = false;
};

} // namespace zklock::recipes

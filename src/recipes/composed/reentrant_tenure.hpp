#pragma once
#include "recipes/acquisition/acquisition.hpp"
#include "recipes/composed/reentrant_hold.hpp"
#include "recipes/composed/reentrant_locks.hpp"
#include "store/if_alive.hpp"
#include "store/unique_function.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

namespace zklock::recipes {

/// One owner on one path, from its first acquire until its last hold is released. All its acquires share one contender.
class reentrant_locks::tenure final : public std::enable_shared_from_this<tenure> {
public:
    using hold_ptr = std::shared_ptr<hold>;

    /// `shared`: its contenders are readers and writers.
    tenure(reentrant_locks&, key who, shared_options, bool shared);
    ~tenure();
    tenure(const tenure&) = delete;
    tenure& operator=(const tenure&) = delete;

    [[nodiscard]] const shared_options& options() const noexcept { return options_; }
    [[nodiscard]] bool shared() const noexcept { return shared_; }
    /// The kind of its contender, or of the last one.
    [[nodiscard]] queue::contender_kind kind() const noexcept { return kind_; }

    /// One acquire more: it enters again, or waits.
    void add(const hold_ptr&);
    /// Asks the contender, as describe_wait() does, as long as that waits.
    void expect_time_out();
    [[nodiscard]] known_wait describe_wait();
    /// Ends a wait. False, and nothing happens, if the result is on its way already.
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
    [[nodiscard]] bool ours() const;
    void enter_again(const hold_ptr&);
    void tell_entered(hold&);
    void release_one(const hold_ptr&, bool last_writer, store::unique_function<void(error_code)> released);
    void release_lock(const hold_ptr&, store::unique_function<void(error_code)> released);
    void read_on(hold_ptr last_writer);
    void on_read_on(error_code, grant);
    void on_lost();
    void on_revoked();
    template <class Tell> void tell_holders(Tell tell);
    void count() noexcept;

    reentrant_locks& all_;
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

} // namespace zklock::recipes

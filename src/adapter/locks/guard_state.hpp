#pragma once
#include "adapter/client/client_state.hpp"
#include "adapter/locks/live_holds.hpp"
#include "recipes/acquisition/acquisition.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/events.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zklock::detail {

class guard_state;

/// One who is told when a guard's hold ends, or is to end.
class guard_watcher {
public:
    /// The guard is that one from now on.
    void watch(std::weak_ptr<guard_state> guard) noexcept { guard_ = std::move(guard); }
    virtual void guard_lost() = 0;
    virtual void guard_released() = 0;
    /// True if that is all it waited for.
    virtual bool guard_revoked() { return false; }

protected:
    ~guard_watcher() = default;

    [[nodiscard]] std::shared_ptr<guard_state> watched() const noexcept { return guard_.lock(); }

private:
    std::weak_ptr<guard_state> guard_;
};

using guard_watchers = std::list<std::shared_ptr<guard_watcher>>;

/// What is held. It is made at the grant, so that a waiter need not carry its room; and it is the task that gives back
/// what the guard did not, for a destructor takes no memory.
class hold final : public strand_task {
public:
    /// Whether somebody has looked at the guard that was delivered to him.
    enum class first_look : std::uint8_t {
        due,     ///< or done
        excused, ///< he had cancelled
        missed   ///< the guard was destroyed in the turn in which it was delivered
    };

    std::shared_ptr<recipes::acquisition> acquisition;
    recipes::grant grant;
    guard_watchers watchers;
    counters::counted_hold counted;
    first_look looked_at = first_look::due;
    live_hold live;
    std::vector<live_hold> live_members;  ///< of a lock made of several
    std::shared_ptr<client_state> client; ///< to give it back

    /// The hold ends now, released or lost, if it has not ended before.
    void count_end(lease_clock::time_point now) noexcept;
    /// The hold ends now, lost or released. If it is released, that counts when the release has ended.
    [[nodiscard]] counters::counted_release count_release(lease_clock::time_point now) noexcept;
    /// From now on the hold is not among what is held of its lock.
    void leave() noexcept;

private:
    void run() override;
    void tell_unseen(client_core&);
};

/// What a guard holds. Its destructor, not the guard's, gives the lock back: so it happens too when a guard is dropped
/// somewhere on its way. An operation to which the guard was given, and which is dropped, does that by drop().
class guard_state final : public std::enable_shared_from_this<guard_state> {
public:
    using watchers = guard_watchers;

    explicit guard_state(std::shared_ptr<client_state> client) noexcept : client_(std::move(client)) {}
    ~guard_state();

    // On the strand.

    /// The lock was granted, one of so many members; before that, this is nobody's.
    void granted(std::shared_ptr<recipes::acquisition> acquisition, recipes::grant&& grant, std::size_t members = 0);
    void set_grant(recipes::grant grant) noexcept { hold_->grant = std::move(grant); }
    void count_in(counters::lock_counters& in) noexcept { hold_->counted.begin(in, client_->turn_time()); }
    /// From now on the hold is among what is held of that lock, and of its members.
    void enter_in(std::shared_ptr<const lock_target> lock) noexcept;
    /// So many of its permits were given back, or belong to `part` now.
    void gave_back(std::size_t permits) noexcept { hold_->live.give_back(permits); }
    void split_off(guard_state& part, std::size_t permits) noexcept
    {
        hold_->live.split_off(part.hold_->live, *part.hold_->acquisition, permits);
    }
    void lost();
    void revoked();
    /// Adds one who watches until the guard is lost or released, or until he is removed or has heard of a revocation.
    [[nodiscard]] watchers::iterator add(std::shared_ptr<guard_watcher> watcher);
    void remove(watchers::iterator gone);
    [[nodiscard]] bool is_lost() const noexcept { return lost_; }
    /// Whether it has been asked to let go. From the first call on, that is looked for.
    [[nodiscard]] bool is_revoked();
    [[nodiscard]] bool is_released() const noexcept { return !hold_ || emptied_; }
    [[nodiscard]] bool is_downgrading() const noexcept { return downgrading_; }
    [[nodiscard]] const std::shared_ptr<recipes::acquisition>& acquisition() const noexcept
    {
        return hold_->acquisition;
    }
    /// Makes a reader's of a writer's: `done` is called when that is so, or with why it is not. If it is not a
    /// writer's, nothing happens, and the result is false.
    [[nodiscard]] bool downgrade(std::function<void(error_code)> done);
    /// To be called before release(): what that ends counts when `released` is called, or is destroyed.
    [[nodiscard]] counters::counted_release count_release() noexcept;
    /// Releases it, unless it was released before: then the result is false.
    [[nodiscard]] bool release(store::unique_function<void(error_code)> released);
    /// Another that holds from now on what this has held, for a guard of its own; null if there is nothing. Who watches
    /// this one watches that one then.
    [[nodiscard]] std::shared_ptr<guard_state> hand_over();
    /// All that was held by it has been taken out.
    void emptied();

    /// It is destroyed next, in the turn in which it was delivered, and nobody has looked at it. From any thread.
    void note_unseen() noexcept
    {
        if (!given_ && hold_ && hold_->looked_at != hold::first_look::excused)
            hold_->looked_at = hold::first_look::missed;
    }
    /// It is delivered next, to somebody who has cancelled. From any thread.
    void note_unwanted() noexcept
    {
        if (hold_)
            hold_->looked_at = hold::first_look::excused;
    }

    // Of the guard: from any thread, but not at once.

    /// Whether its release, or its downgrade, has begun: the guard is empty since.
    [[nodiscard]] bool is_given() const noexcept { return given_; }
    /// Its release, or its downgrade, begins: it is launched. If that throws, nothing is done, and the guard stays
    /// full.
    template <class Operation> void give(const std::shared_ptr<Operation>& to)
    {
        const auto take_back = [](guard_state* self) { self->given_ = false; };
        std::unique_ptr<guard_state, decltype(take_back)> unless_it_begins(this, take_back);
        given_ = true;
        Operation::launch(to);
        static_cast<void>(unless_it_begins.release());
    }
    /// Gives back what it holds, if it still does, as the destructor does. From any thread: nobody else has it.
    void drop() noexcept;

    // From any thread, once granted, until it is given.

    [[nodiscard]] const std::shared_ptr<client_state>& client() const noexcept { return client_; }
    [[nodiscard]] bool held() const noexcept
    {
        return client_->alive() && hold_->acquisition->held(lease_clock::now());
    }
    [[nodiscard]] lease_clock::time_point held_until() const noexcept
    {
        return client_->alive() ? hold_->acquisition->held_until() : lease_clock::time_point{};
    }
    [[nodiscard]] std::optional<lock_loss> loss() const noexcept;
    [[nodiscard]] const recipes::grant& grant() const noexcept { return hold_->grant; }
    [[nodiscard]] bool is_on(const std::string& path) const noexcept { return hold_->acquisition->path() == path; }

private:
    std::shared_ptr<client_state> client_;
    std::shared_ptr<hold> hold_; // from the grant until the release
    bool lost_ = false;
    bool revoked_ = false;
    bool downgrading_ = false;
    bool looks_for_revocation_ = false;
    bool emptied_ = false;
    bool given_ = false; // not of the strand: of whom the guard belongs to
};

/// Whether a guard with that holds something: it was granted, and neither its release nor its downgrade has begun.
[[nodiscard]] inline bool is_full(const std::shared_ptr<guard_state>& held) noexcept
{
    return held && !held->is_given();
}

/// Whether it does, and that is a hold of that lock.
[[nodiscard]] bool is_full_of(const std::shared_ptr<guard_state>& held, const lock_state&) noexcept;

/// What an operation was given, and has not used, is held no more. (One that could not be launched was given nothing.)
inline void give_back(std::shared_ptr<guard_state>& given) noexcept
{
    if (const auto held = std::exchange(given, nullptr); held && held->is_given())
        held->drop();
}

} // namespace zklock::detail

#pragma once
#include "queue/node_name.hpp"
#include "recipes/lease/lease.hpp"
#include "store/scheduler.hpp"
#include "store/unique_function.hpp"
#include "zklock/detail/acquire_mode.hpp"
#include "zklock/events.hpp"
#include "zklock/lock_options.hpp"

#include <boost/system/error_code.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zklock::recipes {

using boost::system::error_code;
using detail::acquire_mode;

/// What a contender is granted.
struct grant {
    std::string node; ///< full path, below the chroot
    std::int64_t fencing_token = 0;
    std::uint64_t owner = 0;                               ///< whose hold it is, for a re-entrant lock; else 0
    std::shared_ptr<const std::vector<held_lock>> parts{}; ///< of a lock made of several; else null
    queue::contender_kind kind = queue::contender_kind::mutex;
};

/// A user's call of an acquire, whatever is acquired: how long it may wait, and how it is told its end.
struct acquire_call {
    acquire_mode mode = acquire_mode::wait;
    std::optional<store::scheduler::time_point> deadline;
    bool hands_over = true; ///< its nodes may say where its client is, and it may be handed the lock past the servers

    /// Is called at the end of the wait, exactly once, unless withdraw() comes first: with the grant, or with why there
    /// is none. When it is told, a grant still holds. If it has ended before it could be told, that is told with an
    /// error (`errc::lost`, or why nothing can be done any more) and the node that it had. There is nothing to release
    /// then.
    store::unique_function<void(error_code, grant)> done;
};

/// Options, and what was made of them once and for all: how contenders are named, by `mark` and `also_heeds`.
struct named_options : mutex_options {
    explicit named_options(mutex_options o) : mutex_options(std::move(o)), rules(mark, also_heeds) {}

    queue::name_rules rules;
};
/// As the acquires of one lock share them. Null only once it was moved from.
struct shared_options : std::shared_ptr<const named_options> {
    shared_options(mutex_options o = {}) : shared_ptr(std::make_shared<const named_options>(std::move(o))) {}
};

/// The lock that is wanted.
struct wanted_lock {
    std::string path;
    shared_options options;
    queue::contender_kind kind = queue::contender_kind::mutex; ///< mutexes and others do not go together on a path
    bool internal = false; ///< the lock of a semaphore's line: its loss is no user's, and the log says so

    [[nodiscard]] const mutex_options& own_options() const noexcept { return *options; }
};
struct acquire_request : acquire_call, wanted_lock {};

/// What an acquire waits for, as its recipe knows it.
struct known_wait : wait_report {
    /// Others keep it waiting, as the last look in this session has shown: somebody is before it, or no permit is free.
    bool others = false;
};

/// What a wait was for that has timed out. It is kept until it is told, and told once.
class kept_report {
public:
    void keep(known_wait told) { report_ = std::make_unique<known_wait>(std::move(told)); }
    /// What was kept, or else what there is to tell now.
    template <class Describe> [[nodiscard]] known_wait tell(Describe describe)
    {
        return report_ ? std::move(*std::exchange(report_, nullptr)) : describe();
    }
    /// What is kept says that others kept it waiting.
    [[nodiscard]] bool names_others() const noexcept { return report_ && report_->others; }

private:
    std::unique_ptr<known_wait> report_;
};

/// One acquire, from its call until its node is gone, made by a recipe: locks::acquire() for the mutex. Once the
/// session is destroyed only the observers may be called.
class acquisition {
public:
    virtual ~acquisition() = default;

    /// Stops waiting: `done` will not be called, and before this returns it is certain that the node is deleted, now or
    /// when the answer to its create comes. False if the wait has ended, or its end is on its way: `done` was called,
    /// or will be unless a later call of this comes in time.
    virtual bool withdraw() = 0;

    /// How often it has asked for a node, as `mutex_options::max_attempts` counts that.
    [[nodiscard]] virtual unsigned attempts() const noexcept { return 0; }

    /// Its caller will not wait much longer: what describe_wait() is to tell is looked for, if it is not known.
    virtual void expect_time_out() {}

    /// Tells what it waits for, or, once, what it had waited for when it ended at its deadline: the path, its node, and
    /// who is before it, as far as the recipes know.
    [[nodiscard]] virtual known_wait describe_wait() { return {}; }

    /// Whether others are why it was refused, as one that looks once (`errc::busy`): see known_wait::others.
    [[nodiscard]] virtual bool refused_for_others() const noexcept { return false; }

    /// Gives the lock back. `released` is called later, once, when the node is gone or its session is: with
    /// `errc::lost` if the lock was lost before, and with another error if the session is closed first or the server
    /// refuses. It may be empty. To be called only after a grant, and once.
    virtual void release(store::unique_function<void(error_code)> released) = 0;

    /// Calls `lost`, later and once, when what was granted is lost; not after release(). It replaces what was to be
    /// called before, and a loss that was told is not told again. To be called when the grant is told, or later.
    virtual void on_lost(store::unique_function<void()> lost) = 0;

    /// Called before release() where what was granted is given back before anybody has looked at it.
    virtual void note_unseen() noexcept {}

    /// Calls `asked`, later and once, when somebody asks the holder to let go, or has done so: its node is looked at
    /// from now on. `asked` is not called after release(), nor once the lock is lost. It replaces what was to be called
    /// before. This is to be called only after a grant.
    virtual void on_revoked(std::function<void()> asked) = 0;

    /// Makes a reader of a writer, with nobody in between who excludes readers. `done` is called later, once: with the
    /// reader's grant; with an error and the writer's grant, which it still has; or with `errc::lost`. It is not to be
    /// called after release(). When the grant is not a writer's, nothing happens, and the result is false.
    virtual bool downgrade(std::function<void(error_code, grant)> /*done*/) { return false; }

    /// Whether its node is still the one in that grant, and no request is under way that replaces it by another.
    [[nodiscard]] virtual bool stands_on(const grant& /*given*/) const noexcept { return true; }

    /// The nodes that exist as long as what was granted is held. To be called only while it is.
    [[nodiscard]] virtual std::vector<std::string> nodes_of(const grant& given) const { return {given.node}; }

    /// Whether it was granted, and is neither released nor lost. Turns false at held_until() less the notice. May be
    /// called from any thread.
    [[nodiscard]] virtual bool held(store::scheduler::time_point now) const noexcept = 0;

    /// How it was lost, if it was; the end of its lease at the latest `now`, if nobody has noticed that yet. May be
    /// called from any thread, after a grant.
    [[nodiscard]] virtual std::optional<lock_loss> loss(store::scheduler::time_point now) const noexcept = 0;

    /// The path of the lock; empty for several. May be called from any thread.
    [[nodiscard]] virtual const std::string& path() const noexcept = 0;

    /// The end of the lease; long past once the lock is lost. May be called from any thread, after a grant.
    [[nodiscard]] virtual store::scheduler::time_point held_until() const noexcept = 0;
};

/// An acquisition that has what its caller is to be told, and tells each thing once.
class told_acquisition : public acquisition {
public:
    void on_lost(store::unique_function<void()> lost) final { holder().lost = std::move(lost); }

    /// Nobody will be told anything any more.
    void forget_caller() noexcept
    {
        call_.done = nullptr;
        holder_ = nullptr;
    }
    /// What he holds is lost, unless he has released it.
    void say_lost()
    {
        if (!holder_)
            return;
        holder_->asked = nullptr;
        if (holder_->lost)
            std::exchange(holder_->lost, nullptr)();
    }
    /// Others ask him to let go.
    void say_asked()
    {
        if (wants_to_be_asked())
            std::exchange(holder_->asked, nullptr)();
    }
    /// His release has ended.
    void say_released(error_code ec)
    {
        if (waits_for_release())
            std::exchange(holder_->released, nullptr)(ec);
    }

protected:
    /// What only a holder needs. It is made when it is needed, so that a waiter need not carry its room.
    struct of_holder {
        grant given; ///< until it is told
        store::unique_function<void()> lost;
        std::function<void()> asked; ///< to be called when he is asked to let go
        std::function<void(error_code, grant)> downgraded;
        store::unique_function<void(error_code)> released;
    };

    explicit told_acquisition(acquire_call&& call) noexcept : call_(std::move(call)) {}

    [[nodiscard]] of_holder& holder()
    {
        if (!holder_)
            holder_ = std::make_unique<of_holder>();
        return *holder_;
    }
    [[nodiscard]] bool wants_to_be_asked() const noexcept { return holder_ && holder_->asked; }
    [[nodiscard]] bool waits_for_release() const noexcept { return holder_ && holder_->released; }
    [[nodiscard]] bool waits_for_downgrade() const noexcept { return holder_ && holder_->downgraded; }
    /// From now on he is told how the release ends, if he wants to know, and nothing else.
    void begin_release(store::unique_function<void(error_code)> released)
    {
        if (holder_) {
            holder_->lost = nullptr;
            holder_->asked = nullptr;
            holder_->downgraded = nullptr;
        }
        if (released)
            holder().released = std::move(released);
    }

    acquire_call call_;
    std::unique_ptr<of_holder> holder_; ///< null while it waits
};

/// How an acquire of some lock is started, whatever its recipe: `done` is never called from inside.
using acquire_function = std::function<std::shared_ptr<acquisition>(acquire_call)>;

} // namespace zklock::recipes

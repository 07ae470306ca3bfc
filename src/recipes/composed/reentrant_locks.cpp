#include "recipes/composed/reentrant_locks.hpp"

#include "queue/mutants.hpp"
#include "zklock/errc.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

namespace zklock::recipes {

/// One acquire of an owner.
class reentrant_locks::hold final : public acquisition, public std::enable_shared_from_this<hold> {
public:
    hold(std::weak_ptr<tenure> where, waiter w) : where_(std::move(where)), waiter_(std::move(w)) {}

    bool withdraw() override;
    void release(std::function<void(error_code)> released) override;
    void on_revoked(std::function<void()> asked) override;
    [[nodiscard]] bool held(store::scheduler::time_point now) const noexcept override
    {
        return active_ && lock_->held(now);
    }
    [[nodiscard]] store::scheduler::time_point held_until() const noexcept override { return lock_->held_until(); }

    // --- for its tenure ----------------------------------------------------------------------------------------------

    [[nodiscard]] const waiter& wish() const noexcept { return waiter_; }
    void begin(std::shared_ptr<acquisition> lock)
    {
        lock_ = std::move(lock);
        active_ = true;
    }
    void end() noexcept { active_ = false; }
    [[nodiscard]] bool active() const noexcept { return active_; }
    /// The wait is over, one way or another.
    void told(error_code ec, const grant& given)
    {
        told_ = true;
        if (ec)
            waiter_.lost = nullptr;
        std::exchange(waiter_.done, nullptr)(ec, given);
    }
    /// The caller knows of the grant.
    [[nodiscard]] bool granted() const noexcept { return told_ && active_; }
    void lose()
    {
        asked_ = nullptr;
        if (waiter_.lost)
            std::exchange(waiter_.lost, nullptr)();
    }
    /// Its owner is asked to let go.
    void revoke()
    {
        if (asked_)
            std::exchange(asked_, nullptr)();
    }
    void forget_caller() noexcept
    {
        waiter_.done = nullptr;
        waiter_.lost = nullptr;
        asked_ = nullptr;
    }

    store::scheduler::timer_id deadline = 0;
    /// Why it waits no longer, though it could not leave: the result of a look that it joined was on its way.
    error_code given_up;

private:
    std::weak_ptr<tenure> where_;
    waiter waiter_;
    std::shared_ptr<acquisition> lock_; ///< set before the grant is told, and not changed after
    std::function<void()> asked_;       ///< to be called when its owner is asked to let go
    std::atomic<bool> active_{false};   ///< granted and not released
    bool told_ = false;
};

/// One owner on one path, from its first acquire until its last hold is released.
class reentrant_locks::tenure final : public std::enable_shared_from_this<tenure> {
public:
    tenure(reentrant_locks& all, key who, shared_options options)
        : all_(all), who_(std::move(who)), options_(std::move(options))
    {
    }
    ~tenure()
    {
        for (const hold_ptr& h : waiting_) {
            all_.scheduler_.cancel(h->deadline);
            h->forget_caller();
        }
        for (const hold_ptr& h : held_)
            h->forget_caller();
    }
    tenure(const tenure&) = delete;
    tenure& operator=(const tenure&) = delete;

    using hold_ptr = std::shared_ptr<hold>;

    [[nodiscard]] const mutex_options& options() const noexcept { return *options_; }

    void add(const hold_ptr& h)
    {
        if (granted_)
            return enter_again(h);
        if (lock_ && mode_ == patience::queue && h->wish().mode == patience::look_once)
            return fail_later(h, errc::busy); // its owner queues for it
        waiting_.push_back(h);
        if (h->wish().deadline)
            h->deadline = all_.scheduler_.call_at(*h->wish().deadline, [this, alive = weak_from_this(), h] {
                if (const auto self = alive.lock())
                    on_deadline(h);
            });
        if (lock_)
            return;
        try {
            start();
        } catch (...) {
            all_.scheduler_.cancel(std::exchange(h->deadline, 0));
            std::erase(waiting_, h);
            close_if_unused();
            throw;
        }
    }

    bool withdraw(const hold_ptr& h)
    {
        if (!leave(h)) {
            h->given_up = error_code(boost::system::errc::operation_canceled, boost::system::system_category());
            return false;
        }
        h->forget_caller();
        close_if_unused();
        return true;
    }

    void release(const hold_ptr& h, std::function<void(error_code)> released)
    {
        h->end();
        std::erase(held_, h);
        count();
        if (!held_.empty()) {
            if (ZKLOCK_MUTANT(reentrant_release_of_one_is_of_all))
                lock_->release({});
            // A lease that has ended unnoticed cannot come back: it is noticed before anything renews it.
            const bool lost = lost_ || !lock_->held(all_.scheduler_.now());
            if (released)
                all_.locks_.session().tell([released = std::move(released), lost] {
                    released(lost ? make_error_code(errc::lost) : error_code());
                });
            return;
        }
        const auto lock = std::exchange(lock_, nullptr);
        granted_ = false;
        close_if_unused();
        lock->release(std::move(released));
    }

    /// One of its holds wants to know when the owner is asked to let go, or whether he was.
    void watch_for_revocation(const hold_ptr& h)
    {
        if (revoked_)
            return all_.locks_.session().tell([h] { h->revoke(); });
        if (std::exchange(watches_, true))
            return;
        lock_->on_revoked([alive = weak_from_this()] {
            if (const auto self = alive.lock())
                self->on_revoked();
        });
    }

private:
    void on_revoked()
    {
        revoked_ = true;
        const auto self = shared_from_this();
        for (const hold_ptr& h : std::vector(held_))
            h->revoke();
    }

    /// By an owner who has the lock, or had it.
    void enter_again(const hold_ptr& h)
    {
        const bool ours = !lost_ && lock_->held(all_.scheduler_.now());
        if (!ours && !ZKLOCK_MUTANT(reentrant_acquire_after_the_loss))
            return fail_later(h, errc::lost);
        h->begin(lock_);
        held_.push_back(h);
        count();
        all_.locks_.session().tell([alive = weak_from_this(), h] {
            if (const auto self = alive.lock())
                self->tell_entered(h);
        });
    }

    void tell_entered(const hold_ptr& h)
    {
        const bool ours = !lost_ && lock_->held(all_.scheduler_.now());
        if (ours || ZKLOCK_MUTANT(reentrant_acquire_after_the_loss))
            return h->told({}, grant_);
        // Lost between the call and now: never granted. The lock is given back if this was the last who had it.
        const grant ended = grant_;
        release(h, {});
        h->told(all_.locks_.session().granted_and_lost(), ended);
    }

    /// Contends for all who wait. A mere look is repeated as a contender if anybody has come who would queue.
    void start()
    {
        const bool queues = std::any_of(waiting_.begin(), waiting_.end(),
                                        [](const hold_ptr& h) { return h->wish().mode == patience::queue; });
        acquire_request request;
        request.path = who_.first;
        request.options = options_;
        request.mode = mode_ = queues ? patience::queue : patience::look_once;
        request.done = [alive = weak_from_this()](error_code ec, const grant& given) {
            if (const auto self = alive.lock())
                self->on_done(ec, given);
        };
        request.lost = [alive = weak_from_this()] {
            if (const auto self = alive.lock())
                self->on_lost();
        };
        lock_ = all_.locks_.acquire(std::move(request));
    }

    void on_done(error_code ec, const grant& given)
    {
        if (ec)
            return on_failed(ec, given);
        granted_ = true;
        lost_ = revoked_ = watches_ = false;
        grant_ = given;
        grant_.owner = who_.second;
        const std::vector<hold_ptr> joined = std::exchange(waiting_, {});
        for (const hold_ptr& h : joined) {
            all_.scheduler_.cancel(std::exchange(h->deadline, 0));
            h->begin(lock_);
            held_.push_back(h);
        }
        count();
        const auto self = shared_from_this();
        for (const hold_ptr& h : joined)
            h->told({}, grant_);
    }

    void on_failed(error_code ec, const grant& given)
    {
        lock_ = nullptr;
        std::vector<hold_ptr> failed;
        std::erase_if(waiting_, [&](const hold_ptr& h) {
            const bool fails = mode_ == h->wish().mode || h->given_up;
            if (fails)
                failed.push_back(h);
            return fails;
        });
        const auto self = shared_from_this();
        if (!waiting_.empty())
            start();
        close_if_unused();
        for (const hold_ptr& h : failed) {
            all_.scheduler_.cancel(std::exchange(h->deadline, 0));
            h->told(h->given_up ? h->given_up : ec, given);
        }
    }

    void on_lost()
    {
        lost_ = true;
        const auto self = shared_from_this();
        for (const hold_ptr& h : std::vector(held_)) {
            if (h->granted())
                h->lose();
            if (ZKLOCK_MUTANT(reentrant_loss_told_to_one))
                return;
        }
    }

    void on_deadline(const hold_ptr& h)
    {
        h->deadline = 0;
        // If it cannot leave any more, a result is on its way: a grant, or that of a look that it joined.
        if (!leave(h)) {
            h->given_up = make_error_code(errc::timed_out);
            return;
        }
        const auto self = shared_from_this();
        close_if_unused();
        h->told(make_error_code(errc::timed_out), {});
    }

    /// Takes it out of those who wait; the last takes the contender along. False if that has ended.
    bool leave(const hold_ptr& h)
    {
        const auto place = std::find(waiting_.begin(), waiting_.end(), h);
        if (place == waiting_.end())
            return false;
        const bool takes_all_along = ZKLOCK_MUTANT(reentrant_joined_acquire_takes_all_along);
        if (takes_all_along && lock_ == nullptr)
            return false; // one before it has done so
        if (waiting_.size() == 1 || takes_all_along) {
            if (lock_ && !lock_->withdraw())
                return false;
            lock_ = nullptr;
        }
        all_.scheduler_.cancel(std::exchange(h->deadline, 0));
        waiting_.erase(place);
        return true;
    }

    void fail_later(const hold_ptr& h, errc why)
    {
        all_.locks_.session().tell([h, why] { h->told(make_error_code(why), {}); });
    }

    void count() { all_.counts_->set(who_.first, who_.second, held_.size()); }

    void close_if_unused()
    {
        if (held_.empty() && waiting_.empty())
            all_.tenures_.erase(who_); // whoever calls keeps a pointer
    }

    reentrant_locks& all_;
    const key who_;
    const shared_options options_;
    std::shared_ptr<acquisition> lock_; ///< the contender, from its start to its release
    patience mode_ = patience::queue;
    bool granted_ = false;
    bool lost_ = false;
    bool revoked_ = false; ///< asked to let go
    bool watches_ = false; ///< for that
    grant grant_;
    std::vector<hold_ptr> waiting_;
    std::vector<hold_ptr> held_;
};

bool reentrant_locks::hold::withdraw()
{
    const auto tenure = where_.lock();
    return tenure && tenure->withdraw(shared_from_this());
}

void reentrant_locks::hold::release(std::function<void(error_code)> released)
{
    waiter_.lost = nullptr;
    asked_ = nullptr;
    if (const auto tenure = where_.lock())
        tenure->release(shared_from_this(), std::move(released));
}

void reentrant_locks::hold::on_revoked(std::function<void()> asked)
{
    const auto tenure = where_.lock();
    if (!tenure || !granted())
        return;
    asked_ = std::move(asked);
    tenure->watch_for_revocation(shared_from_this());
}

reentrant_locks::reentrant_locks(locks& l, store::scheduler& scheduler, std::shared_ptr<hold_counts> counts)
    : locks_(l), scheduler_(scheduler), counts_(std::move(counts))
{
}

reentrant_locks::~reentrant_locks()
{
    for (const auto& [who, ended] : tenures_)
        counts_->set(who.first, who.second, 0);
}

std::shared_ptr<acquisition> reentrant_locks::acquire(owner_id owner, std::string path, shared_options options,
                                                      waiter w)
{
    const key who{std::move(path), owner};
    std::shared_ptr<tenure> own;
    if (const auto found = tenures_.find(who); found != tenures_.end())
        own = found->second;
    if (own && own->options().names != options->names) {
        const auto refused = std::make_shared<hold>(std::weak_ptr<tenure>(), std::move(w));
        locks_.session().tell([refused] { refused->told(make_error_code(errc::invalid_option), {}); });
        return refused;
    }
    if (!own) {
        own = std::make_shared<tenure>(*this, who, std::move(options));
        tenures_.emplace(who, own);
    }
    const auto entered = std::make_shared<hold>(std::weak_ptr(own), std::move(w));
    own->add(entered);
    return entered;
}

} // namespace zklock::recipes

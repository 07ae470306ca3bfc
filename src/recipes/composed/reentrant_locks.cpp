#include "recipes/composed/reentrant_locks.hpp"

#include "queue/mutants.hpp"
#include "recipes/session/option_faults.hpp"
#include "store/each_told.hpp"
#include "zklock/errc.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <list>
#include <new>

namespace zklock::recipes {
namespace {

error_code no_memory() noexcept
{
    return make_error_code(boost::system::errc::not_enough_memory);
}

} // namespace

/// One acquire of an owner.
class reentrant_locks::hold final : public acquisition, public std::enable_shared_from_this<hold> {
public:
    hold(session& s, std::weak_ptr<tenure> where, waiter w)
        : where_(std::move(where)), waiter_(std::move(w)), to_tell_(s.make_room())
    {
    }

    bool withdraw() override;
    void release(store::unique_function<void(error_code)> released) override;
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
    /// Tells that the wait is over, one way or another.
    void end_wait(error_code ec, grant given)
    {
        told_ = true;
        if (ec)
            waiter_.lost = nullptr;
        std::exchange(waiter_.done, nullptr)(ec, std::move(given));
    }
    /// The same; what was granted is left out if there is no memory for it.
    void fail(error_code ec, const grant& ended)
    {
        grant given;
        try {
            given = ended;
        } catch (const std::bad_alloc&) {
            given = {};
        }
        end_wait(ec, std::move(given));
    }
    [[nodiscard]] bool told() const noexcept { return told_; }
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

    void on_release(store::unique_function<void(error_code)> released) noexcept { released_ = std::move(released); }
    /// Its owner has the lock still, or has lost it.
    void tell_released(session& s, error_code ec) noexcept
    {
        if (released_)
            s.tell(std::move(to_tell_), [self = shared_from_this(), ec] { self->released_(ec); });
    }

    store::scheduler::timer_id deadline = 0;
    /// Why it waits no longer, though it could not leave: the result of a look that it joined was on its way.
    error_code given_up;

private:
    std::weak_ptr<tenure> where_;
    waiter waiter_;
    std::shared_ptr<acquisition> lock_; ///< set before the grant is told, and not changed after
    std::function<void()> asked_;       ///< to be called when its owner is asked to let go
    store::unique_function<void(error_code)> released_;
    session::room to_tell_;        ///< how its release ends
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
    using holds = std::list<hold_ptr>;

    [[nodiscard]] const mutex_options& options() const noexcept { return *options_; }

    void add(const hold_ptr& h)
    {
        if (granted_)
            return enter_again(h);
        if (lock_ && mode_ == patience::queue && h->wish().mode == patience::look_once)
            return fail_later(h, errc::busy); // its owner queues for it
        waiting_.push_back(h);
        try {
            if (h->wish().deadline)
                h->deadline = all_.scheduler_.call_at(*h->wish().deadline, [this, alive = weak_from_this(), h] {
                    if (const auto self = alive.lock())
                        on_deadline(h);
                });
            if (!lock_)
                start();
        } catch (...) {
            all_.scheduler_.cancel(std::exchange(h->deadline, 0));
            waiting_.pop_back();
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

    void release(const hold_ptr& h, store::unique_function<void(error_code)> released)
    {
        h->end();
        held_.remove(h);
        ++changes_;
        count();
        if (!held_.empty()) {
            if (ZKLOCK_MUTANT(reentrant_release_of_one_is_of_all))
                lock_->release({});
            // A lease that has ended unnoticed cannot come back: it is noticed before anything renews it.
            const bool lost = lost_ || !lock_->held(all_.scheduler_.now());
            h->on_release(std::move(released));
            return h->tell_released(all_.locks_.session(), lost ? make_error_code(errc::lost) : error_code());
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
        if (watches_)
            return;
        lock_->on_revoked([alive = weak_from_this()] {
            if (const auto self = alive.lock())
                self->on_revoked();
        });
        watches_ = true;
    }

    void close_if_unused() noexcept
    {
        if (!held_.empty() || !waiting_.empty())
            return;
        all_.counts_->close(who_);
        all_.tenures_.erase(who_); // whoever calls keeps a pointer
    }

private:
    void on_revoked()
    {
        revoked_ = true;
        tell_holders([](hold& h) { h.revoke(); });
    }

    /// Calls `tell`, which tells each of them once, for all who hold. They may come and go meanwhile.
    template <class Tell> void tell_holders(Tell tell)
    {
        const auto self = shared_from_this();
        store::each_told each;
        for (auto h = held_.begin(); h != held_.end();) {
            const auto before = changes_;
            each([&, keep = *h] { tell(*keep); });
            h = before == changes_ ? std::next(h) : held_.begin();
        }
        each.rethrow();
    }

    /// One hold more, for an owner who has the lock, or had it.
    void enter_again(const hold_ptr& h)
    {
        const bool ours = !lost_ && lock_->held(all_.scheduler_.now());
        if (!ours && !ZKLOCK_MUTANT(reentrant_acquire_after_the_loss))
            return fail_later(h, errc::lost);
        auto room = all_.locks_.session().make_room();
        held_.push_back(h);
        ++changes_;
        h->begin(lock_);
        count();
        all_.locks_.session().tell(std::move(room), [alive = weak_from_this(), h] {
            if (const auto self = alive.lock())
                self->tell_entered(*h);
        });
    }

    void tell_entered(hold& h)
    {
        const bool ours = !lost_ && lock_->held(all_.scheduler_.now());
        if (ours || ZKLOCK_MUTANT(reentrant_acquire_after_the_loss))
            return tell_granted(h);
        // Lost between the call and now: never granted. The lock is given back if this was the last who had it.
        const auto self = shared_from_this();
        release(h.shared_from_this(), {});
        h.fail(all_.locks_.session().granted_and_lost(), grant_);
    }

    void tell_granted(hold& h)
    {
        grant given;
        try {
            given = grant_;
        } catch (const std::bad_alloc&) {
            release(h.shared_from_this(), {});
            return h.end_wait(no_memory(), {});
        }
        h.end_wait({}, std::move(given));
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
        request.done = [alive = weak_from_this()](error_code ec, grant given) {
            if (const auto self = alive.lock())
                self->on_done(ec, std::move(given));
        };
        request.lost = [alive = weak_from_this()] {
            if (const auto self = alive.lock())
                self->on_lost();
        };
        lock_ = all_.locks_.acquire(std::move(request));
    }

    void on_done(error_code ec, grant given)
    {
        if (ec)
            return on_failed(ec, given);
        granted_ = true;
        lost_ = revoked_ = watches_ = false;
        grant_ = std::move(given);
        grant_.owner = who_.second;
        for (const hold_ptr& h : waiting_) {
            all_.scheduler_.cancel(std::exchange(h->deadline, 0));
            h->begin(lock_);
        }
        held_.splice(held_.end(), waiting_);
        count();
        tell_holders([this](hold& h) {
            if (!h.told())
                tell_granted(h);
        });
    }

    void on_failed(error_code ec, const grant& given)
    {
        lock_ = nullptr;
        holds failed;
        for (auto h = waiting_.begin(); h != waiting_.end();) {
            const auto next = std::next(h);
            if (mode_ == (*h)->wish().mode || (*h)->given_up)
                failed.splice(failed.end(), waiting_, h);
            h = next;
        }
        const auto self = shared_from_this();
        if (!waiting_.empty())
            try {
                start();
            } catch (const std::bad_alloc&) {
                for (const hold_ptr& h : waiting_)
                    h->given_up = no_memory();
                failed.splice(failed.end(), waiting_);
            }
        close_if_unused();
        store::each_told each;
        for (const hold_ptr& h : failed) {
            all_.scheduler_.cancel(std::exchange(h->deadline, 0));
            each([&] { h->fail(h->given_up ? h->given_up : ec, given); });
        }
        each.rethrow();
    }

    void on_lost()
    {
        lost_ = true;
        tell_holders([this](hold& h) {
            if (h.granted() && (&h == held_.front().get() || !ZKLOCK_MUTANT(reentrant_loss_told_to_one)))
                h.lose();
        });
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
        h->end_wait(make_error_code(errc::timed_out), {});
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
        all_.locks_.session().tell([h, why] { h->end_wait(make_error_code(why), {}); });
    }

    void count() noexcept { all_.counts_->set(who_, held_.size()); }

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
    holds waiting_;
    holds held_;
    std::uint64_t changes_ = 0; ///< of those who hold
};

bool reentrant_locks::hold::withdraw()
{
    const auto tenure = where_.lock();
    return tenure && tenure->withdraw(shared_from_this());
}

void reentrant_locks::hold::release(store::unique_function<void(error_code)> released)
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
        counts_->close(who);
}

std::shared_ptr<acquisition> reentrant_locks::acquire(owner_id owner, std::string path, shared_options options,
                                                      waiter w)
{
    const key who{std::move(path), owner};
    std::shared_ptr<tenure> own;
    if (const auto found = tenures_.find(who); found != tenures_.end())
        own = found->second;
    if (own && own->options().names != options->names) {
        refuse(locks_.session(), who.first,
               {"names", in_words(options->names), in_words(own->options().names) + ", as in the acquire before"});
        const auto refused = std::make_shared<hold>(locks_.session(), std::weak_ptr<tenure>(), std::move(w));
        locks_.session().tell([refused] { refused->end_wait(make_error_code(errc::invalid_option), {}); });
        return refused;
    }
    if (!own)
        own = std::make_shared<tenure>(*this, who, std::move(options));
    const auto entered = std::make_shared<hold>(locks_.session(), std::weak_ptr(own), std::move(w));
    tenures_.emplace(who, own);
    try {
        counts_->open(who);
        own->add(entered);
    } catch (...) {
        own->close_if_unused();
        throw;
    }
    return entered;
}

} // namespace zklock::recipes

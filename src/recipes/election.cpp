#include "recipes/election.hpp"

#include "queue/mutants.hpp"
#include "recipes/error_mapping.hpp"
#include "zklock/errc.hpp"

#include <algorithm>

namespace zklock::recipes {

/// One acquire of a candidate: his wait, his leadership, and its end.
class election::term final : public acquisition, public std::enable_shared_from_this<term> {
public:
    term(std::shared_ptr<election> where, std::shared_ptr<candidate> who, waiter w)
        : election_(std::move(where)), candidate_(std::move(who)), waiter_(std::move(w))
    {
    }

    void start(const acquire_function& acquire)
    {
        waiter w;
        w.mode = waiter_.mode;
        w.deadline = waiter_.deadline;
        w.done = [self = shared_from_this()](error_code ec, const grant& given) { self->on_done(ec, given); };
        w.lost = [weak = weak_from_this()] {
            const auto self = weak.lock();
            if (self && self->waiter_.lost && !ZKLOCK_MUTANT(election_loss_not_told))
                std::exchange(self->waiter_.lost, nullptr)();
        };
        lock_ = acquire(std::move(w));
    }

    bool withdraw() override
    {
        if (state_ != state::waiting || !lock_ || !lock_->withdraw())
            return false;
        waiter_.done = nullptr;
        waiter_.lost = nullptr;
        end();
        return true;
    }

    void release(std::function<void(error_code)> released) override
    {
        waiter_.lost = nullptr;
        lock_->release([self = shared_from_this(), released = std::move(released)](error_code ec) {
            if (released)
                released(ec);
            self->end();
        });
    }

    void on_revoked(std::function<void()> asked) override { lock_->on_revoked(std::move(asked)); }
    [[nodiscard]] bool held(store::scheduler::time_point now) const noexcept override { return lock_->held(now); }
    [[nodiscard]] store::scheduler::time_point held_until() const noexcept override { return lock_->held_until(); }

    // --- for its election --------------------------------------------------------------------------------------------

    [[nodiscard]] bool over() const noexcept { return state_ == state::over; }
    [[nodiscard]] bool leads(store::scheduler::time_point now) const noexcept
    {
        return state_ == state::leading && held(now);
    }

    /// Its candidate has resigned. True if it is over; else it will be, when the leader stops or the grant comes.
    bool resign(store::scheduler& scheduler)
    {
        if (state_ != state::waiting || ZKLOCK_MUTANT(election_resigned_candidate_stays) || !lock_ || !lock_->withdraw())
            return false;
        refuse(scheduler);
        end();
        return true;
    }

    void refuse(store::scheduler& scheduler)
    {
        state_ = state::over;
        waiter_.lost = nullptr;
        scheduler.post([self = shared_from_this()] { std::exchange(self->waiter_.done, nullptr)(cancelled(), {}); });
    }

private:
    enum class state : std::uint8_t { waiting, leading, over };

    void on_done(error_code ec, const grant& given)
    {
        const auto done = std::exchange(waiter_.done, nullptr);
        if (ec) {
            waiter_.lost = nullptr;
            end();
            return done(ec, given);
        }
        if (candidate_->resigned() && !ZKLOCK_MUTANT(election_resigned_candidate_stays)) {
            release({}); // the grant was on its way
            return done(cancelled(), {});
        }
        state_ = state::leading;
        const auto keep = election_;
        keep->tell_waits(true);
        done({}, ZKLOCK_MUTANT(election_epoch_not_told) ? grant{given.node} : given);
    }

    void end()
    {
        state_ = state::over;
        const auto keep = shared_from_this();
        election_->ended(*this);
    }

    const std::shared_ptr<election> election_;
    const std::shared_ptr<candidate> candidate_;
    waiter waiter_;
    std::shared_ptr<acquisition> lock_;
    state state_ = state::waiting;
};

std::shared_ptr<acquisition> election::stand(store::scheduler& scheduler, std::shared_ptr<candidate> who,
                                             const acquire_function& acquire, waiter w)
{
    const auto standing = std::make_shared<term>(shared_from_this(), who, std::move(w));
    if (who->resigned() && !ZKLOCK_MUTANT(election_stands_again_after_resigning)) {
        standing->refuse(scheduler);
        return standing;
    }
    std::erase_if(candidates_, [&](const auto& c) { return c.expired() || c.lock() == who; });
    candidates_.push_back(who);
    terms_.push_back(standing);
    try {
        standing->start(acquire);
    } catch (...) {
        std::erase_if(terms_, [&](const auto& weak) { return weak.lock() == standing; });
        throw;
    }
    return standing;
}

void election::resign(store::scheduler& scheduler, std::function<void()> out)
{
    for (const auto& weak : std::exchange(candidates_, {}))
        if (const auto who = weak.lock()) {
            who->resigned_ = true;
            if (!ZKLOCK_MUTANT(election_resigned_leader_not_stopped))
                scheduler.post([who] { who->ask_to_stop(); });
        }
    resignation leaving;
    for (const auto& weak : std::vector(terms_))
        if (const auto t = weak.lock(); t && !t->resign(scheduler) && !ZKLOCK_MUTANT(election_resign_does_not_wait))
            leaving.due.push_back(weak);
    scheduler.post([self = shared_from_this()] { self->tell_waits(false); });
    if (leaving.due.empty()) {
        scheduler.post(std::move(out));
        return;
    }
    leaving.out = std::move(out);
    resignations_.push_back(std::move(leaving));
}

bool election::leads(store::scheduler::time_point now) const noexcept
{
    return std::any_of(terms_.begin(), terms_.end(), [now](const auto& weak) {
        const auto t = weak.lock();
        return t && t->leads(now);
    });
}

auto election::wait_for_leadership(store::scheduler& scheduler, std::function<void(bool)> f) -> wait_id
{
    const wait_id id = ++last_wait_;
    waits_.emplace(id, std::move(f));
    if (leads(scheduler.now()))
        scheduler.post([self = shared_from_this()] { self->tell_waits(true); });
    return id;
}

void election::tell_waits(bool leads)
{
    for (const auto& [id, f] : std::exchange(waits_, {}))
        f(leads);
}

/// A term is over: its release is done, or there was none.
void election::ended(const term& which)
{
    const auto gone = [&](const std::weak_ptr<term>& weak) {
        const auto t = weak.lock();
        return !t || t.get() == &which;
    };
    std::erase_if(terms_, gone);
    std::vector<std::function<void()>> out;
    std::erase_if(resignations_, [&](resignation& r) {
        std::erase_if(r.due, gone);
        if (!r.due.empty())
            return false;
        out.push_back(std::move(r.out));
        return true;
    });
    for (const auto& f : out)
        f();
}

} // namespace zklock::recipes

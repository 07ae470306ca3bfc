#include "recipes/composed/election.hpp"

#include "recipes/session/error_mapping.hpp"
#include "store/if_alive.hpp"
#include "zklock/errc.hpp"

#include <algorithm>
#include <iterator>

namespace zklock::recipes {

/// One acquire of a candidate: his wait, his leadership, and its end.
class election::term final : public told_acquisition, public std::enable_shared_from_this<term> {
public:
    term(session& s, std::shared_ptr<election> where, std::shared_ptr<candidate> who, acquire_call call)
        : told_acquisition(std::move(call)), session_(s), election_(std::move(where)), candidate_(std::move(who))
    {
    }

    void start(const acquire_function& acquire)
    {
        acquire_call inner;
        inner.mode = call_.mode;
        inner.deadline = call_.deadline;
        inner.hands_over = false; // Curator takes all of the data for the candidate's id
        inner.done = [self = shared_from_this()](error_code ec, grant given) { self->on_done(ec, std::move(given)); };
        lock_ = acquire(std::move(inner));
    }

    bool withdraw() override
    {
        if (state_ != state::waiting || !lock_ || !lock_->withdraw())
            return false;
        call_.done = nullptr;
        end();
        return true;
    }

    void release(store::unique_function<void(error_code)> released) override
    {
        begin_release(std::move(released));
        lock_->release(news_for(shared_from_this(), [](term& t, error_code ec) {
            t.say_released(ec);
            t.end();
        }));
    }

    [[nodiscard]] known_wait describe_wait() override { return lock_ ? lock_->describe_wait() : known_wait(); }
    [[nodiscard]] bool refused_for_others() const noexcept override { return lock_ && lock_->refused_for_others(); }
    void on_revoked(std::function<void()> asked) override { lock_->on_revoked(std::move(asked)); }
    [[nodiscard]] const std::string& path() const noexcept override { return lock_->path(); }
    [[nodiscard]] bool held(store::scheduler::time_point now) const noexcept override { return lock_->held(now); }
    [[nodiscard]] std::optional<lock_loss> loss(store::scheduler::time_point now) const noexcept override
    {
        return lock_->loss(now);
    }
    [[nodiscard]] store::scheduler::time_point held_until() const noexcept override { return lock_->held_until(); }

    // --- for its election --------------------------------------------------------------------------------------------

    [[nodiscard]] bool over() const noexcept { return state_ == state::over; }
    [[nodiscard]] bool leads(store::scheduler::time_point now) const noexcept
    {
        return state_ == state::leading && held(now);
    }

    /// Its candidate has resigned. True if it is over; else it will be, when the leader stops or the grant comes.
    bool resign()
    {
        if (state_ != state::waiting || !lock_ || !lock_->withdraw())
            return false;
        cancel_wait();
        end();
        return true;
    }

    /// Its candidate has resigned: the wait is over.
    void cancel_wait()
    {
        state_ = state::over;
        session_.news().tell(shared_from_this(),
                             [](term& t) { std::exchange(t.call_.done, nullptr)(cancelled(), {}); });
    }

private:
    enum class state : std::uint8_t { waiting, leading, over };

    void on_done(error_code ec, grant given)
    {
        const auto done = std::exchange(call_.done, nullptr);
        if (ec) {
            end();
            done(ec, std::move(given));
        } else if (candidate_->resigned()) {
            release({}); // the grant was on its way
            done(cancelled(), {});
        } else {
            state_ = state::leading;
            lock_->on_lost(store::if_alive<&term::say_lost>(weak_from_this()));
            const auto keep = election_;
            keep->tell_waits(true);
            done({}, std::move(given));
        }
    }

    void end()
    {
        state_ = state::over;
        const auto keep = shared_from_this();
        election_->ended(*this);
    }

    session& session_;
    const std::shared_ptr<election> election_;
    const std::shared_ptr<candidate> candidate_;
    std::shared_ptr<acquisition> lock_;
    state state_ = state::waiting;
};

std::shared_ptr<acquisition> election::stand(session& s, std::shared_ptr<candidate> who,
                                             const acquire_function& acquire, acquire_call call)
{
    const auto standing = std::make_shared<term>(s, shared_from_this(), who, std::move(call));
    if (who->resigned()) {
        standing->cancel_wait();
        return standing;
    }
    std::erase_if(candidates_, [&](const auto& c) { return c.expired() || c.lock() == who; });
    candidates_.push_back(who);
    terms_.push_back(standing);
    standing->start(acquire);
    return standing;
}

void election::resign(session& s, std::function<void()> out)
{
    const auto terms = terms_;
    resignation leaving{{}, std::move(out)};
    for (const auto& weak : std::exchange(candidates_, {}))
        if (const auto who = weak.lock()) {
            who->resigned_ = true;
            s.news().tell([who] { who->ask_to_stop(); });
        }
    for (const auto& weak : terms)
        if (const auto t = weak.lock(); t && !t->resign())
            leaving.due.push_back(weak);
    s.news().tell([self = shared_from_this()] { self->tell_waits(false); });
    if (leaving.due.empty())
        s.news().tell(std::move(leaving.out));
    else
        resignations_.push_back(std::move(leaving));
}

bool election::leads(store::scheduler::time_point now) const noexcept
{
    return std::any_of(terms_.begin(), terms_.end(), [now](const auto& weak) {
        const auto t = weak.lock();
        return t && t->leads(now);
    });
}

auto election::wait_for_leadership(session& s, std::function<void(bool)> f) -> wait_id
{
    const wait_id id = ++last_wait_;
    waits_.emplace(id, std::move(f));
    if (leads(s.scheduler.now()))
        s.news().tell([self = shared_from_this()] { self->tell_waits(true); });
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
    std::list<resignation> done;
    for (auto r = resignations_.begin(); r != resignations_.end();) {
        const auto next = std::next(r);
        std::erase_if(r->due, gone);
        if (r->due.empty())
            done.splice(done.end(), resignations_, r);
        r = next;
    }
    for (const resignation& r : done)
        r.out();
}

} // namespace zklock::recipes

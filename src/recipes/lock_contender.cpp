#include "recipes/lock_contender.hpp"

#include "queue/mutants.hpp"
#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "queue/owner_data.hpp"
#include "recipes/error_mapping.hpp"
#include "recipes/lock_path.hpp"
#include "zklock/detail/event_sink.hpp"

#include <exception>
#include <new>
#include <utility>

namespace zklock::recipes {

/// The news of how a wait ended. If it is dropped unsaid, so is whom it was for, who may hold the contender.
class lock_contender::end_of_wait {
public:
    end_of_wait(std::shared_ptr<lock_contender> who, error_code how) : who_(std::move(who)), how_(how) {}
    end_of_wait(end_of_wait&&) noexcept = default;
    end_of_wait& operator=(end_of_wait&&) = delete;
    ~end_of_wait()
    {
        if (who_)
            who_->request_.done = nullptr;
    }
    void operator()() { who_->tell_done(how_); }
    /// It could not be told: it will be told by another.
    void keep() noexcept { who_ = nullptr; }

private:
    std::shared_ptr<lock_contender> who_;
    error_code how_;
};

lock_contender::lock_contender(session_core& core, lock_path* path, queue::contender_id the_id, acquire_request request)
    : id(the_id), core_(core), path_(path), request_(std::move(request))
{
    if (!options().properties.empty())
        data_ = queue::write_owner_data(identifier(), options().properties);
}

const std::string& lock_contender::identifier() const noexcept
{
    const std::string& own = options().identifier;
    return own.empty() ? core_.options.identifier : own;
}

const std::string& lock_contender::data() const noexcept
{
    return data_.empty() ? identifier() : data_;
}

/// Its events so far, of which the last is kept. Only with a listener.
lock_event& lock_contender::event()
{
    if (!last_event_) {
        last_event_ = std::make_unique<lock_event>();
        last_event_->acquire = id;
        last_event_->path = request_.path;
    }
    return *last_event_;
}

namespace {

/// A listener's executor takes no more: what happens goes on, and who runs the client hears of it.
void tell_of_refusal(session_core& core, std::exception_ptr why) noexcept
{
    try {
        core.tell([&core, why = std::move(why)] {
            if (!core.options.log)
                std::rethrow_exception(why);
            std::string text = "the executor of a lock's listener refuses its events: ";
            try {
                std::rethrow_exception(why);
            } catch (const std::exception& e) {
                text += e.what();
            } catch (...) {
                text += "something is thrown that is no std::exception";
            }
            core.options.log(log_level::warning, text);
        });
    } catch (const std::bad_alloc&) { // NOLINT: the listener counts what it misses, and memory is missed by others, too
    }
}

} // namespace

void lock_contender::notify(lock_event::kind what, error_code ec)
{
    if (!listens())
        return;
    event().what = what;
    event().error = ec;
    try {
        options().listener->notify(event());
    } catch (...) {
        tell_of_refusal(core_, std::current_exception());
    }
}

void lock_contender::queued(const std::string& node)
{
    if (!waiting() || event().node == node)
        return;
    event().node = node;
    event().sequence = queue::sequence_of(queue::name_of(node)).value_or(0);
    notify(lock_event::kind::queued);
}

void lock_contender::arm_deadline()
{
    if (!request_.deadline)
        return;
    const auto again = *request_.deadline - core_.scheduler.now();
    const auto when = *request_.deadline + (ZKLOCK_MUTANT(deadline_restarted) ? again : again.zero());
    deadline_ = core_.scheduler.call_at(when, [this] {
        deadline_ = 0;
        core_.attempt([this] { path_->give_up(*this, errc::timed_out); });
    });
}

/// After an exception: what was to be told of it may have been lost.
void lock_contender::resume()
{
    if (waiting() && deadline_ == 0)
        arm_deadline();
}

void lock_contender::tell_end(error_code how)
{
    end_of_wait news(shared_from_this(), how);
    try {
        core_.tell(std::move(news));
    } catch (...) {
        news.keep();
        throw;
    }
}

void lock_contender::end_wait(state next)
{
    core_.scheduler.cancel(std::exchange(deadline_, 0));
    state_ = next;
}

bool lock_contender::withdraw()
{
    if (!waiting() || !path_)
        return false;
    end_wait(state::done);
    notify(lock_event::kind::failed, cancelled());
    request_.done = nullptr;
    request_.lost = nullptr;
    if (ZKLOCK_MUTANT(withdrawn_node_stays)) {
        request_.done = [](error_code, const recipes::grant&) {};
        return true;
    }
    core_.attempt([this] { path_->leave(*this); });
    return true;
}

void lock_contender::grant(std::string node, std::int64_t fencing_token)
{
    if (!waiting())
        return;
    fencing_token_ = fencing_token;
    term_ = core_.term();
    notice_ = core_.loss_notice();
    if (listens()) {
        queued(node); // if it took over the node of another one
        event().fencing_token = fencing_token;
        notify(lock_event::kind::acquired);
    }
    tell_end({});
    end_wait(state::held);
    given_ = {std::move(node), fencing_token};
    given_.kind = request_.kind;
}

void lock_contender::fail(errc why)
{
    if (!waiting())
        return;
    notify(lock_event::kind::failed, why);
    tell_end(why);
    end_wait(state::done);
    request_.lost = nullptr;
}

void lock_contender::tell_done(error_code ec)
{
    if (!request_.done) // its path is gone
        return;
    if (!ec && !holding() && !ZKLOCK_MUTANT(grant_told_after_the_loss)) {
        ec = core_.granted_and_lost();
        request_.lost = nullptr;
    }
    std::exchange(request_.done, nullptr)(ec, std::move(given_));
}

void lock_contender::lose()
{
    if (!holding())
        return;
    notify(lock_event::kind::lost);
    finish_downgrade(errc::lost, {});
    if (!ZKLOCK_MUTANT(loss_not_told))
        core_.tell([self = shared_from_this()] {
            if (self->request_.lost) // not released meanwhile
                std::exchange(self->request_.lost, nullptr)();
        });
    state_ = state::lost;
    asked_ = nullptr;
}

void lock_contender::release(std::function<void(error_code)> released)
{
    core_.attempt([this] { core_.notice_lapse(core_.scheduler.now()); });
    if (!ZKLOCK_MUTANT(loss_told_after_the_release))
        request_.lost = nullptr;
    if (!ZKLOCK_MUTANT(revocation_told_after_the_release))
        asked_ = nullptr;
    downgraded_ = nullptr;
    if (holding() && path_) {
        state_ = state::done;
        released_ = std::move(released);
        core_.attempt([this] { path_->leave(*this); });
    } else if (released) {
        const error_code ec = state_ == state::lost ? errc::lost : errc::not_owner;
        core_.tell([released = std::move(released), ec] { released(ec); });
    }
}

void lock_contender::on_revoked(std::function<void()> asked)
{
    if (!holding() || !path_)
        return;
    asked_ = std::move(asked);
    core_.attempt([this] { path_->watch_for_revocation(*this); });
}

void lock_contender::revoke()
{
    if (!asked_)
        return;
    core_.tell([self = shared_from_this()] {
        if (self->asked_ && ZKLOCK_MUTANT(revocation_told_twice))
            std::function(self->asked_)();
        if (self->asked_) // neither lost nor released meanwhile
            std::exchange(self->asked_, nullptr)();
    });
}

bool lock_contender::downgrade(std::function<void(error_code, const recipes::grant&)> done)
{
    if (request_.kind != queue::contender_kind::writer || state_ == state::waiting || downgraded_)
        return false;
    core_.attempt([this] { core_.notice_lapse(core_.scheduler.now()); });
    downgraded_ = std::move(done);
    core_.attempt([this] {
        if (holding() && path_)
            path_->downgrade(*this);
        else
            finish_downgrade(errc::lost, {});
    });
    return true;
}

/// The token stays: it is still larger than that of whoever held before, and smaller than that of whoever comes later.
void lock_contender::finish_downgrade(error_code ec, std::string node)
{
    leaves_its_node_ = false;
    if (!ec)
        request_.kind = queue::contender_kind::reader;
    if (!downgraded_)
        return;
    recipes::grant given{std::move(node), fencing_token_};
    given.kind = request_.kind;
    core_.tell([self = shared_from_this(), ec, given = std::move(given)] {
        if (self->downgraded_) // not released meanwhile
            std::exchange(self->downgraded_, nullptr)(ec || self->holding() ? ec : errc::lost, given);
    });
}

void lock_contender::finish_release(error_code ec)
{
    const bool given_back = state_ == state::done && last_event_ && last_event_->what == lock_event::kind::acquired;
    if (given_back && (!ec || core_.over)) // else it is tried again
        notify(lock_event::kind::released, ec);
    if (!released_)
        return;
    core_.tell([self = shared_from_this(), ec] {
        if (self->released_)
            std::exchange(self->released_, nullptr)(ec);
    });
}

void lock_contender::detach() noexcept
{
    core_.scheduler.cancel(std::exchange(deadline_, 0));
    path_ = nullptr;
    request_.done = nullptr;
    request_.lost = nullptr;
    released_ = nullptr;
    asked_ = nullptr;
    downgraded_ = nullptr;
    state_ = state_ == state::held ? state::lost : state_.load();
}

/// What is sent after a downgrade is executed after it, when the writer's node is gone.
bool lock_contender::stands_on(const recipes::grant& given) const noexcept
{
    return given.kind != queue::contender_kind::writer || (given.kind == request_.kind && !leaves_its_node_);
}

bool lock_contender::held(store::scheduler::time_point now) const noexcept
{
    return holding() && now < term_->until() - notice_;
}

store::scheduler::time_point lock_contender::held_until() const noexcept
{
    return state_ == state::lost ? store::scheduler::time_point{} : term_->until();
}

} // namespace zklock::recipes

#include "recipes/composed/reentrant_tenure.hpp"

#include "recipes/session/error_mapping.hpp"
#include "zklock/errc.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace zklock::recipes {

reentrant_locks::tenure::tenure(reentrant_locks& all, key who, shared_options options, bool shared)
    : all_(all), who_(std::move(who)), options_(std::move(options)), shared_(shared)
{
}

void reentrant_locks::tenure::detach()
{
    all_.counts_->set(who_, {}, nullptr);
    // They keep this tenure as long as it has them.
    for (const hold_ptr& h : std::exchange(waiting_, {})) {
        h->disarm_deadline();
        h->forget_caller();
    }
    for (const hold_ptr& h : std::exchange(held_, {}))
        h->forget_caller();
    if (const auto writer = std::exchange(last_writer_, nullptr))
        writer->forget_caller();
}

void reentrant_locks::tenure::close_if_unused() noexcept
{
    if (!held_.empty() || !waiting_.empty())
        return;
    all_.tenures_.erase(who_); // the caller keeps a pointer
}

// --- how acquires end ------------------------------------------------------------------------------------------------

void reentrant_locks::tenure::add(const hold_ptr& h)
{
    if (granted_ && !ours())
        return fail_later(h, errc::lost);
    if (!may_join(*h))
        return fail_later(h, errc::not_upgradable);
    if (granted_)
        return enter_again(h);
    const bool queues = lock_ && mode_ == acquire_mode::wait;
    if (queues && h->mode() == acquire_mode::look_once) { // its owner queues for it
        h->note_refusal(describe_wait().others);
        return fail_later(h, errc::busy);
    }
    waiting_.push_back(h);
    h->arm_deadline();
    if (!lock_)
        start();
}

/// A reader does not become a writer, whether it holds or waits.
bool reentrant_locks::tenure::may_join(const hold& h) const noexcept
{
    if (h.reads())
        return true;
    if (granted_)
        return readers_ < held_.size();
    return !lock_ || kind_ != queue::contender_kind::reader;
}

/// Contends for all who wait: as a writer, if anybody wants to write. A mere look is repeated as a contender if anybody
/// has come who would queue.
void reentrant_locks::tenure::start()
{
    const bool queues = std::any_of(waiting_.begin(), waiting_.end(),
                                    [](const hold_ptr& h) { return h->mode() == acquire_mode::wait; });
    const auto writer = std::find_if(waiting_.begin(), waiting_.end(), [](const hold_ptr& h) { return !h->reads(); });
    mode_ = queues ? acquire_mode::wait : acquire_mode::look_once;
    kind_ = writer == waiting_.end() ? queue::contender_kind::reader : (*writer)->kind();
    now_ = ++starts_;
    acquire_request request{{}, {who_.first, options_, kind_}};
    request.mode = mode_;
    request.done = [alive = weak_from_this(), nth = now_](error_code ec, grant given) {
        if (const auto self = alive.lock(); self && self->now_ == nth)
            self->on_done(ec, std::move(given));
    };
    lock_ = all_.locks_.acquire(std::move(request));
}

/// Only readers are left of those who queued as a writer. They need not wait for other readers, unless the writer's end
/// is on its way: then that is theirs, and at a grant they become readers. The reader that was to replace it leaves, or
/// has been refused at once, which means nothing to them.
void reentrant_locks::tenure::wait_as_readers()
{
    const auto writer = lock_;
    const auto [now, kind] = std::pair(now_, kind_);
    start();
    if (writer->withdraw())
        return;
    const auto reader = std::exchange(lock_, writer);
    now_ = now;
    kind_ = kind;
    reader->withdraw();
}

void reentrant_locks::tenure::on_done(error_code ec, grant given)
{
    if (ec)
        return on_failed(ec, given);
    granted_ = true;
    lock_->on_lost(store::if_alive<&tenure::on_lost>(weak_from_this()));
    lost_ = revoked_ = watches_ = false;
    grant_ = std::move(given);
    grant_.owner = who_.second;
    for (const hold_ptr& h : waiting_) {
        h->disarm_deadline();
        h->begin(lock_);
    }
    held_.splice(held_.end(), waiting_);
    readers_ = static_cast<std::size_t>(
        std::count_if(held_.begin(), held_.end(), [](const hold_ptr& h) { return h->reads(); }));
    count();
    if (kind_ != queue::contender_kind::reader && readers_ == held_.size())
        read_on(nullptr); // the writers have left while the grant was on its way
    tell_holders([this](hold& h) {
        if (!h.told())
            tell_granted(h);
    });
}

/// Those fail who have asked for what was tried: who would queue goes on after a mere look.
void reentrant_locks::tenure::on_failed(error_code ec, const grant& given)
{
    lock_ = nullptr;
    holds failed;
    for (auto h = waiting_.begin(); h != waiting_.end();) {
        const auto next = std::next(h);
        if (mode_ == (*h)->mode() || (*h)->given_up) {
            (*h)->disarm_deadline();
            failed.splice(failed.end(), waiting_, h);
        }
        h = next;
    }
    const auto self = shared_from_this();
    if (!waiting_.empty())
        start();
    close_if_unused();
    for (const hold_ptr& h : failed)
        h->end_wait(h->given_up ? h->given_up : ec, given);
}

bool reentrant_locks::tenure::withdraw(const hold_ptr& h)
{
    if (!leave(h)) {
        h->given_up = cancelled();
        return false;
    }
    h->forget_caller();
    close_if_unused();
    return true;
}

void reentrant_locks::tenure::give_up(const hold_ptr& h, error_code why)
{
    // If it cannot leave any more, a result is on its way: a grant, or that of a look that it joined.
    if (!leave(h)) {
        h->given_up = why;
        return;
    }
    const auto self = shared_from_this();
    close_if_unused();
    h->end_wait(why, {});
}

void reentrant_locks::tenure::expect_time_out()
{
    if (lock_ && !granted_)
        lock_->expect_time_out();
}

/// Takes it out of those who wait; the last takes the contender along. False if that has ended.
bool reentrant_locks::tenure::leave(const hold_ptr& h)
{
    const auto place = std::find(waiting_.begin(), waiting_.end(), h);
    if (place == waiting_.end())
        return false;
    if (waiting_.size() == 1) {
        if (lock_ && !lock_->withdraw())
            return false;
        lock_ = nullptr;
    }
    h->disarm_deadline();
    waiting_.erase(place);
    const auto reads = [](const hold_ptr& other) { return other->reads(); };
    if (lock_ && mode_ == acquire_mode::wait && kind_ == queue::contender_kind::writer &&
        std::all_of(waiting_.begin(), waiting_.end(), reads))
        wait_as_readers();
    return true;
}

void reentrant_locks::tenure::fail_later(const hold_ptr& h, errc why)
{
    all_.locks_.session().news().tell(h, [why](hold& refused) { refused.end_wait(make_error_code(why), {}); });
}

void reentrant_locks::tenure::tell_granted(hold& h)
{
    grant given = grant_;
    given.kind = h.kind();
    h.end_wait({}, std::move(given));
}

// --- while the lock is held ------------------------------------------------------------------------------------------

/// One hold more, for an owner who has the lock.
void reentrant_locks::tenure::enter_again(const hold_ptr& h)
{
    held_.push_back(h);
    readers_ += h->reads() ? 1 : 0;
    ++changes_;
    h->begin(lock_);
    count();
    all_.locks_.session().news().tell(h, store::if_alive<&tenure::tell_entered>(weak_from_this()));
}

void reentrant_locks::tenure::tell_entered(hold& h)
{
    if (ours())
        return tell_granted(h);
    // Lost between the call and now: never granted. The lock is given back if this was the last who had it.
    const auto self = shared_from_this();
    release(h.shared_from_this(), {});
    h.end_wait(make_error_code(all_.locks_.session().granted_and_lost()), grant_);
}

void reentrant_locks::tenure::release(const hold_ptr& h, store::unique_function<void(error_code)> released)
{
    const bool last_of_the_writers = !h->reads() && held_.size() - readers_ == 1;
    h->end();
    held_.remove(h);
    readers_ -= h->reads() ? 1 : 0;
    ++changes_;
    count();
    if (held_.empty())
        release_lock(h, std::move(released));
    else
        release_one(h, last_of_the_writers, std::move(released));
}

/// Others of the owner still hold: if they read, so does the lock from now on, and the release ends with that.
void reentrant_locks::tenure::release_one(const hold_ptr& h, bool last_writer,
                                          store::unique_function<void(error_code)> released)
{
    h->on_release(std::move(released));
    if (ours() && last_writer)
        return read_on(h);
    h->tell_released(ours() ? error_code() : make_error_code(errc::lost));
}

/// It was the last of the owner.
void reentrant_locks::tenure::release_lock(const hold_ptr& h, store::unique_function<void(error_code)> released)
{
    const auto lock = std::exchange(lock_, nullptr);
    granted_ = !held_.empty();
    close_if_unused();
    if (!last_writer_)
        return lock->release(std::move(released));
    h->on_release(std::move(released)); // both end with it
    const auto finish = [](hold& writer, error_code ec) { writer.say_released(ec); };
    news_for first(std::exchange(last_writer_, nullptr), finish);
    lock->release(news_for(h, [first = std::move(first)](hold& last, error_code ec) mutable {
        first(ec);
        last.say_released(ec);
    }));
}

/// The contender becomes a reader: all who hold read.
void reentrant_locks::tenure::read_on(hold_ptr last_writer)
{
    last_writer_ = std::move(last_writer);
    lock_->downgrade(store::if_alive<&tenure::on_read_on>(weak_from_this()));
}

/// If it was refused, the owner goes on alone. If the lock is lost, the others hear of that next.
void reentrant_locks::tenure::on_read_on(error_code ec, grant given)
{
    if (!ec)
        grant_.node = std::move(given.node);
    grant_.kind = given.kind;
    if (const auto told = std::exchange(last_writer_, nullptr))
        told->say_released(ec);
}

void reentrant_locks::tenure::on_lost()
{
    lost_ = true;
    tell_holders([](hold& h) {
        if (h.granted())
            h.say_lost();
    });
}

void reentrant_locks::tenure::watch_for_revocation(const hold_ptr& h)
{
    if (revoked_)
        return all_.locks_.session().news().tell(h, [](hold& asked) { asked.say_asked(); });
    if (watches_)
        return;
    lock_->on_revoked(store::if_alive<&tenure::on_revoked>(weak_from_this()));
    watches_ = true;
}

void reentrant_locks::tenure::on_revoked()
{
    revoked_ = true;
    tell_holders([](hold& h) { h.say_asked(); });
}

/// Calls `tell` for all who hold. They may come and go meanwhile, and then it starts over: so `tell` has to do nothing
/// to one who was told already.
template <class Tell> void reentrant_locks::tenure::tell_holders(Tell tell)
{
    const auto self = shared_from_this();
    for (auto h = held_.begin(); h != held_.end();) {
        const auto before = changes_;
        const hold_ptr keep = *h;
        tell(*keep);
        h = before == changes_ ? std::next(h) : held_.begin();
    }
}

void reentrant_locks::tenure::count()
{
    const hold_count holds{held_.size() - readers_, readers_};
    all_.counts_->set(who_, holds, held_.empty() ? nullptr : lock_);
}

// --- one hold --------------------------------------------------------------------------------------------------------

void reentrant_locks::hold::release(store::unique_function<void(error_code)> released)
{
    begin_release({});
    where_->release(shared_from_this(), std::move(released));
}

void reentrant_locks::hold::on_revoked(std::function<void()> asked)
{
    if (!granted())
        return;
    holder().asked = std::move(asked);
    where_->watch_for_revocation(shared_from_this());
}

void reentrant_locks::hold::begin(std::shared_ptr<acquisition> lock) noexcept
{
    lock_ = std::move(lock);
    active_ = true;
}

void reentrant_locks::hold::end_wait(error_code ec, grant given)
{
    told_ = true;
    std::exchange(call_.done, nullptr)(ec, std::move(given));
}

void reentrant_locks::hold::tell_released(error_code ec)
{
    if (waits_for_release())
        session_.news().tell(shared_from_this(), [ec](hold& h) { h.say_released(ec); });
}

} // namespace zklock::recipes

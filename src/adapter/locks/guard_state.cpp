// What a guard stands for, on the strand.
#include "adapter/locks/guard_state.hpp"
#include "adapter/locks/lock_state.hpp"
#include "store/if_alive.hpp"

namespace zklock::detail {

namespace {

void tell_each(const guard_watchers& watchers, void (guard_watcher::*what)())
{
    for (const auto& watcher : watchers)
        ((*watcher).*what)();
}

/// At a release, which comes too late for a lease that has ended unnoticed. Those who are told watch no more.
void tell_all(guard_watchers& watchers, const recipes::acquisition& acquisition)
{
    if (watchers.empty())
        return;
    const bool held = acquisition.held(lease_clock::now());
    tell_each(std::exchange(watchers, {}), held ? &guard_watcher::guard_released : &guard_watcher::guard_lost);
}

} // namespace

void hold::tell_unseen(client_core& core)
{
    acquisition->note_unseen();
    const std::vector<held_lock> one{{acquisition->path(), grant.node, 0}};
    for (const held_lock& lock : grant.parts ? *grant.parts : one)
        if (const auto left_out = client->counted().unseen_told.say(lock.path, lease_clock::now()))
            core.session.log(log_level::warning, lock.path, " was given back in the turn in which it was granted (",
                             lock.node,
                             "), and nobody had looked at what co_await gave: the lock is held as long as that has a "
                             "name, as in \"auto held = co_await lock.acquire(5s);\"",
                             store::times_left_out{*left_out});
}

void hold::leave() noexcept
{
    live.leave();
    for (live_hold& member : live_members)
        member.leave();
}

void hold::count_end(lease_clock::time_point now) noexcept
{
    leave();
    if (!counted.counts())
        return;
    if (const auto how = acquisition->loss(now))
        counted.lost(how->reason, now);
    else
        counted.released(now);
}

counters::counted_release hold::count_release(lease_clock::time_point now) noexcept
{
    leave();
    if (const auto how = acquisition->loss(now))
        counted.lost(how->reason, now);
    return {counted, now};
}

void hold::run()
{
    auto counting = count_release(lease_clock::now());
    if (auto* const core = looked_at == first_look::missed ? client->open_core() : nullptr)
        tell_unseen(*core);
    tell_all(watchers, *acquisition);
    if (!client->open_core())
        return;
    if (counting.counts())
        acquisition->release([counting = std::move(counting)](error_code ec) mutable { counting.ended(ec); });
    else
        acquisition->release({}); // nobody wants to know
}

guard_state::~guard_state()
{
    drop();
}

void guard_state::drop() noexcept
{
    if (!hold_)
        return;
    hold_->leave();
    if (hold_->looked_at == hold::first_look::missed)
        ++client_->counted().unseen_guards;
    // On the strand like everything else; where there is none any more, there is nothing to give back.
    hold_->client = client_;
    static_cast<void>(client_->post_task(std::move(hold_)));
}

void guard_state::granted(std::shared_ptr<recipes::acquisition> acquisition, recipes::grant&& grant,
                          std::size_t members)
{
    hold_ = std::make_shared<hold>();
    hold_->acquisition = std::move(acquisition); // from here on the destructor finds it
    hold_->grant = std::move(grant);
    if (members != 0)
        hold_->live_members = std::vector<live_hold>(members);
    hold_->acquisition->on_lost(store::if_alive<&guard_state::lost>(weak_from_this()));
}

void guard_state::enter_in(std::shared_ptr<const lock_target> lock) noexcept
{
    const recipes::acquisition& what = *hold_->acquisition;
    auto member = hold_->live_members.begin();
    for (const auto& each : lock->members())
        (member++)->enter(each, what, each->takes());
    const lock_share takes = lock->takes();
    hold_->live.enter(std::move(lock), what, takes);
}

void guard_state::lost()
{
    lost_ = true;
    if (!hold_)
        return;
    hold_->count_end(client_->turn_time());
    tell_each(std::exchange(hold_->watchers, {}), &guard_watcher::guard_lost);
}

void guard_state::revoked()
{
    revoked_ = true;
    if (!hold_)
        return;
    watchers& all = hold_->watchers;
    for (auto watcher = all.begin(); watcher != all.end();) {
        const auto told = watcher++;
        if ((*told)->guard_revoked())
            all.erase(told);
    }
}

bool guard_state::is_revoked()
{
    if (hold_ && !looks_for_revocation_) {
        hold_->acquisition->on_revoked(store::if_alive<&guard_state::revoked>(weak_from_this()));
        looks_for_revocation_ = true;
    }
    return revoked_;
}

auto guard_state::add(std::shared_ptr<guard_watcher> watcher) -> watchers::iterator
{
    return hold_->watchers.insert(hold_->watchers.end(), std::move(watcher));
}

void guard_state::remove(watchers::iterator gone)
{
    if (hold_)
        hold_->watchers.erase(gone);
}

std::shared_ptr<guard_state> guard_state::hand_over()
{
    if (!hold_)
        return nullptr;
    auto next = std::make_shared<guard_state>(client_);
    next->hold_ = std::move(hold_);
    next->lost_ = lost_;
    next->revoked_ = next->looks_for_revocation_ = revoked_;
    next->hold_->acquisition->on_lost(store::if_alive<&guard_state::lost>(std::weak_ptr(next)));
    if (looks_for_revocation_)
        static_cast<void>(next->is_revoked());
    for (const auto& watcher : next->hold_->watchers)
        watcher->watch(next);
    return next;
}

bool guard_state::downgrade(std::function<void(error_code)> done)
{
    if (downgrading_ || !hold_ || hold_->grant.kind != queue::contender_kind::writer)
        return false;
    // From here on others may read, though it may last until somebody here learns of that. So nobody is told any more
    // that the lock is held alone.
    hold_->live.set_shared(true);
    // The acquisition keeps the function, and is kept by this.
    downgrading_ = hold_->acquisition->downgrade(
        [weak = weak_from_this(), done = std::move(done)](error_code ec, const recipes::grant& now) {
            if (const auto self = weak.lock()) {
                self->downgrading_ = false;
                hold* const held = self->hold_.get(); // null if it was cancelled: it is given back next
                if (held && !ec)
                    held->grant = now;
                else if (held)
                    held->live.set_shared(false); // refused; or lost, so that it is not held at all
            }
            done(ec);
        });
    if (!downgrading_)
        hold_->live.set_shared(false);
    return downgrading_;
}

counters::counted_release guard_state::count_release() noexcept
{
    if (hold_)
        return hold_->count_release(lease_clock::now());
    counters::counted_hold none;
    return {none, {}};
}

bool guard_state::release(store::unique_function<void(error_code)> released)
{
    if (!hold_)
        return false;
    const auto was = std::move(hold_);
    was->count_end(client_->turn_time());
    tell_all(was->watchers, *was->acquisition);
    was->acquisition->release(std::move(released));
    return true;
}

void guard_state::emptied()
{
    emptied_ = true;
    hold_->count_end(client_->turn_time());
    tell_each(std::exchange(hold_->watchers, {}), &guard_watcher::guard_released);
}

std::optional<lock_loss> guard_state::loss() const noexcept
{
    const auto now = lease_clock::now();
    if (client_->is_forked()) {
        lock_loss copied = hold_->acquisition->loss(now).value_or(lock_loss{});
        copied.reason = loss_reason::forked;
        return copied;
    }
    auto how = hold_->acquisition->loss(now);
    if (!how && !client_->alive())
        how = lock_loss{loss_reason::client_closed};
    return how;
}

} // namespace zklock::detail

#include "recipes/session_core.hpp"

#include "queue/mutants.hpp"
#include "queue/node_path.hpp"
#include "recipes/error_mapping.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace zklock::recipes {
namespace {

constexpr std::chrono::milliseconds between_looks_at_holders{100};

} // namespace

session_core::session_core(store::store& the_store, store::scheduler& the_scheduler, const client_options& the_options,
                           std::function<std::string()> uuid_source)
    : store(the_store), scheduler(the_scheduler), options(the_options), new_uuid(std::move(uuid_source)),
      lease_({options.clock_drift, options.server_tick, options.lease_margin, options.loss_notice, {}}),
      budget_(options.node_budget, options.node_budget_limit), alive_(std::make_shared<session_core*>(this))
{
}

session_core::~session_core()
{
    for (store::scheduler::timer_id timer : {beat_timer_, lease_timer_, holders_timer_, settle_timer_})
        scheduler.cancel(timer);
}

void session_core::deliver_news()
{
    struct later { // also when one of those who are told throws, say out of his executor
        session_core& core;
        bool is_planned = false;
        ~later()
        {
            core.delivering_ = false;
            if (!is_planned)
                core.deliver_soon();
        }
    } the_rest{*this};
    // Whoever is told of a grant holds: an end of the lease since the grant was decided is noticed before.
    attempt([this] { notice_lapse(scheduler.now()); });
    if (!stopped_)
        attempt([this] { stop(*over); });
    if (expiry_untold_)
        attempt([this] { settle(); });
    if (lapse_untold_ || expiry_untold_ || !stopped_) {
        // Once more, but not at once: it could go on like that as long as memory fails. Since one of the attempts has
        // failed, settle() comes: with its timer, or behind the end of the epoch.
        the_rest.is_planned = settle_timer_ != 0 || (epoch_open_ && !over);
        return;
    }
    // What comes up meanwhile is told next time.
    for (std::size_t n = news_.size(); n != 0; --n) {
        const auto news = std::move(news_.front());
        news_.pop_front();
        news();
    }
}

// --- lease -----------------------------------------------------------------------------------------------------------

void session_core::heard(const store::reply& answer)
{
    if (answer.result == store::outcome::unknown)
        return contact_lost();
    const auto now = scheduler.now();
    notice_lapse(now);
    const bool was_fresh = lease_.fresh(now);
    lease_.answered(answer.sent, now);
    if (ZKLOCK_MUTANT(lease_counts_from_the_answer))
        lease_.confirmed(now, now);
    if (!was_fresh && lease_.fresh(now))
        for (session_member* member : members())
            member->advance();
}

void session_core::wrote(const store::reply& answer)
{
    heard(answer);
    if (answer.result == store::outcome::ok && connected && !std::exchange(server_proved_, true))
        in_doubt.server_proved();
}

void session_core::plan_beat()
{
    if (beat_timer_ == 0 && connected)
        plan(beat_timer_, std::max(scheduler.now(), lease_.next_heartbeat()), &session_core::beat);
}

/// A sync, because it goes through the leader.
void session_core::beat()
{
    if (!connected || ZKLOCK_MUTANT(no_heartbeat))
        return;
    requests.proceed();
    if (scheduler.now() < lease_.next_heartbeat())
        return plan_beat();
    if (beating_)
        return; // its answer plans the next
    store.sync("/", [this](const store::reply& answer) {
        beating_ = false;
        lease_.heartbeat_answered(answer.sent, scheduler.now());
        heard(answer);
        if (!ZKLOCK_MUTANT(heartbeat_sent_once))
            plan_beat();
    });
    beating_ = true;
}

void session_core::granted(session_member& member)
{
    if (!ZKLOCK_MUTANT(lease_not_watched))
        plan_lease_watch();
    look_at_later(member);
    if (holders_timer_ == 0)
        plan(holders_timer_, scheduler.now() + between_looks_at_holders, &session_core::look_for_long_holders);
}

void session_core::look_at_later(session_member& member)
{
    if (member.among_holders_)
        return;
    holders_.push_back(&member);
    member.among_holders_ = true;
}

void session_core::plan_lease_watch()
{
    if (lease_timer_ == 0)
        plan(lease_timer_, lease_.ends(), &session_core::watch_lease);
}

void session_core::watch_lease()
{
    notice_lapse(scheduler.now());
    if (lease_fresh() && !ZKLOCK_MUTANT(lease_watched_once))
        plan_lease_watch();
}

void session_core::notice_lapse(store::scheduler::time_point now)
{
    if (lease_.lapsed(now)) {
        lease_.end();
        lapse_untold_ = true;
    }
    if (lapse_untold_)
        tell_lapse();
}

void session_core::look_for_long_holders()
{
    const auto now = scheduler.now();
    const auto lately = std::exchange(holders_, {});
    for (session_member* member : lately)
        member->among_holders_ = false;
    for (session_member* member : lately)
        if (member->notice_long_holder(now))
            look_at_later(*member);
    if (!holders_.empty() && holders_timer_ == 0)
        plan(holders_timer_, now + between_looks_at_holders, &session_core::look_for_long_holders);
}

void session_core::later(lease_clock::duration delay, std::function<void()> f)
{
    // The timer stays with the scheduler: it may run after this object is gone.
    static_cast<void>(scheduler.call_at(scheduler.now() + delay, [alive = std::weak_ptr(alive_), f = std::move(f)] {
        if (const auto core = alive.lock())
            (*core)->attempt(f);
    }));
}

void session_core::plan(store::scheduler::timer_id& timer, store::scheduler::time_point when,
                        void (session_core::*what)())
{
    timer = scheduler.call_at(when, [this, &timer, what] {
        timer = 0;
        attempt([this, what] { (this->*what)(); });
    });
}

// --- node budget -----------------------------------------------------------------------------------------------------

node_budget::verdict session_core::reserve(std::size_t bytes, bool first_of_path)
{
    // Whoever has waited longer comes first, also when it is the path itself that has freed some.
    if (!first_of_path && !wanting_budget_.empty())
        return node_budget::verdict::wait;
    return budget_.reserve(bytes, first_of_path);
}

void session_core::release(std::size_t bytes)
{
    budget_.release(bytes);
    attempt([this] { share_budget_soon(); });
}

void session_core::want_no_budget(session_member& member)
{
    if (std::erase(wanting_budget_, &member) != 0)
        share_budget_soon();
}

void session_core::share_budget_soon()
{
    if (wanting_budget_.empty() || budget_freed_)
        return;
    tell([this] {
        budget_freed_ = false;
        attempt([this] { share_budget(); });
    });
    budget_freed_ = true;
}

void session_core::wait_for_budget(session_member& member)
{
    wanting_budget_.push_back(&member);
}

/// Each in turn may send one create, and waits again when that was not the last one.
void session_core::share_budget()
{
    for (std::size_t n = wanting_budget_.size(); n != 0 && !wanting_budget_.empty(); --n) {
        session_member* const member = wanting_budget_.front();
        wanting_budget_.pop_front();
        member->budget_freed();
    }
    writes.proceed();
}

// --- called by the session -------------------------------------------------------------------------------------------

void session_core::on_connected(const store::connect_reply& answer)
{
    const auto now = scheduler.now();
    if (answer.renewed)
        unopened_ = answer.sent;
    settle();
    epoch_open_ = true;
    notice_lapse(now);
    session_id = answer.session_id;
    connected = true;
    reconnected_ = std::exchange(connected_before_, true);
    server_proved_ = false;
    refusal_logged_ = false;
    // A leader that takes over knows of no other time than the one the session began with; and what the server that the
    // session has just left reports of it may come late. So the shortest of these times and the new one counts.
    const std::chrono::nanoseconds granted = answer.session_timeout;
    if (unopened_)
        first_granted_ = last_granted_ = granted;
    const auto timeout = std::min({first_granted_, std::exchange(last_granted_, granted), granted});
    if (unopened_ || timeout != lease_.times().timeout) {
        // A server with other limits has taken the same session over: what is held was granted on another lease.
        lease_.open(timeout);
        // They were planned for the earlier lease, which may have been longer.
        for (store::scheduler::timer_id* timer : {&beat_timer_, &lease_timer_})
            scheduler.cancel(std::exchange(*timer, 0));
        tell_lapse();
    }
    // A session comes into being by a majority. That it goes on may be the word of a leader that was paused, and does
    // not know yet that others have taken over.
    if (unopened_)
        lease_.opened(*unopened_, now);
    else
        lease_.answered(answer.sent, now);
    unopened_.reset();
    // They were called before: what a lock does now may make another node of the one that a transaction looks for.
    requests.epoch_began();
    in_doubt.epoch_began();
    for (session_member* member : members())
        if (connected) // or one of them has met an exception
            member->epoch_began();
    containers.proceed();
    plan_beat();
    deliver_soon();
}

void session_core::catch_up()
{
    if (!connected || catching_up_ != catch_up_state::not_asked)
        return;
    store.sync("/", [this](const store::reply& answer) {
        const bool done = answer.result == store::outcome::ok;
        catching_up_ = done ? catch_up_state::done : catch_up_state::not_asked; // whoever needs it asks again
        if (!done && answer.result != store::outcome::unknown)
            catching_up_refused(answer.result);
        heard(answer);
    });
    catching_up_ = catch_up_state::under_way;
}

void session_core::catching_up_refused(store::outcome why)
{
    refusal_to_catch_up_ = error_of(why);
    if (std::exchange(refusal_logged_, true) || !options.log)
        return;
    tell([this] {
        options.log(log_level::error, "the servers refuse a sync, so what they answer may be older than what former "
                                      "holders of a lock have written: reads of users fail until one is granted");
    });
}

void session_core::catch_up_for_users()
{
    if (reconnected_ && !ZKLOCK_MUTANT(transaction_reads_behind_no_sync))
        catch_up();
}

bool session_core::behind_users() const noexcept
{
    return reconnected_ && !caught_up() && !ZKLOCK_MUTANT(transaction_reads_behind_no_sync);
}

void session_core::contact_lost() noexcept
{
    if (!std::exchange(connected, false))
        return;
    if (!ZKLOCK_MUTANT(caught_up_outlives_its_epoch))
        catching_up_ = catch_up_state::not_asked;
    for (session_member* member : members_)
        member->contact_lost();
}

void session_core::on_disconnected()
{
    epoch_open_ = false;
    contact_lost(); // known to all before the end of the epoch makes one of them have another do something
    end_epoch();
    deliver_soon();
}

void session_core::on_expired()
{
    session_id = 0;
    lease_.end();
    expiry_untold_ = true;
    tell_expiry();
}

void session_core::stop(errc why)
{
    over = why;
    connected = false;
    session_id = 0;
    lease_.end();
    expiry_untold_ = false; // this tells them more
    stopped_ = false;
    for (session_member* member : members())
        member->stop(why);
    requests.stop(why);
    stopped_ = true;
}

void session_core::on_node_event(store::event_kind kind, std::string_view node)
{
    tell_listeners(node, [&](session_member& member) { member.on_own_event(kind, node); });
    const std::string_view parent = queue::parent_of(node);
    tell_listeners(parent, [&](session_member& m) { m.on_node_event(kind, parent, queue::name_of(node)); });
}

// --- members ---------------------------------------------------------------------------------------------------------

void session_core::add(session_member& member)
{
    member.place_ = members_.insert(members_.end(), &member);
}

void session_core::remove(session_member& member)
{
    members_.erase(member.place_);
    std::erase(wanting_budget_, &member);
    std::erase(holders_, &member);
}

void session_core::listen(std::string_view path, session_member& member)
{
    listeners_.emplace(path, &member);
}

bool session_core::stop_listening(std::string_view path, session_member& member, bool watched)
{
    const auto [first, last] = listeners_.equal_range(path);
    const auto own = std::find_if(first, last, [&](const auto& entry) { return entry.second == &member; });
    if (own != last)
        listeners_.erase(own);
    if (!listeners_.contains(path))
        return left_watches_.erase(std::string(path)) != 0 || watched;
    if (watched)
        left_watches_.emplace(path);
    return false;
}

bool session_core::leave_watch(std::string_view path)
{
    if (shares(path)) {
        left_watches_.emplace(path);
        return false;
    }
    left_watches_.erase(std::string(path));
    return true;
}

/// Whom it is told may listen to something else then.
template <class F> void session_core::tell_listeners(std::string_view path, F tell)
{
    const auto [first, last] = listeners_.equal_range(path);
    if (first == last)
        return;
    if (std::next(first) == last)
        return tell(*first->second);
    std::vector<session_member*> several;
    std::transform(first, last, std::back_inserter(several), [](const auto& entry) { return entry.second; });
    for (session_member* member : several)
        tell(*member);
}

} // namespace zklock::recipes

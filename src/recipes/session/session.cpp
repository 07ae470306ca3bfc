#include "recipes/session/session.hpp"

#include "queue/node_path.hpp"
#include "recipes/session/option_faults.hpp"

#include <chrono>
#include <utility>

namespace zklock::recipes {

session::session(store::node_store& the_store, store::scheduler& the_scheduler, counters::connection_counters& counted,
                 const client_options& the_options, std::function<std::string()> uuid_source, store::peers* peers)
    : store(the_store), scheduler(the_scheduler), options(the_options), new_uuid(std::move(uuid_source)),
      handoffs(peers ? std::make_unique<recipes::handoffs>(*peers, counted.handoff.taken) : nullptr),
      lease(*this, counted), counters_(counted)
{
    store.attach(*this);
    if (peers)
        peers->attach(*this);
}

session::~session()
{
    connected = false; // nothing is sent any more
}

std::optional<errc> session::why_unusable(const std::string& path, bool known) const
{
    if (over)
        return over;
    if (!known)
        if (const auto fault = find_path_fault(path, options.chroot))
            return report_path_fault(*this, path, *fault);
    if (connected && lease.impossible())
        return errc::invalid_option;
    return std::nullopt;
}

void session::on_certificate(const store::node_secret& secret)
{
    if (!over)
        handoffs->on_certificate(secret);
}

void session::on_awaited(const store::commitment& commitment)
{
    if (!over)
        handoffs->on_awaited(commitment);
}

// --- news ------------------------------------------------------------------------------------------------------------

void session::on_state(std::function<void(connection_state)> f)
{
    on_state_ = std::move(f);
}

void session::change(connection_state next)
{
    const bool same_state = state_.exchange(next) == next;
    const std::int64_t id = id_;
    const bool same_session = std::exchange(told_id_, id) == id;
    if (same_state && same_session)
        return;
    if (options.listener && next == connection_state::failed)
        tell_listener(next, errc::authentication_failed);
    else if (options.listener)
        tell_listener(next);
    if (!on_state_ || std::exchange(tells_state_, true))
        return; // news that are on their way tell of it
    news.tell([this] {
        tells_state_ = false;
        on_state_(state_);
    });
}

/// Tells the listener of each state, even if others follow at once.
void session::tell_listener(connection_state now, const boost::system::error_code& why) noexcept
{
    connection_event event;
    event.state = now;
    event.session_id = id_;
    event.at = scheduler.now();
    event.why = why;
    notify(options.listener, event);
}

void session::fail(const boost::system::error_code& why, std::string_view words) noexcept
{
    connected = false;
    id_ = 0;
    log(log_level::error, "the client has failed, and has cut its connection: ", words,
        "; all its locks are lost, and its session is left to its time-out");
    if (options.listener)
        tell_listener(connection_state::failed, why);
}

// --- what the store tells --------------------------------------------------------------------------------------------

void session::on_connected(const store::connect_reply& answer)
{
    if (over)
        return; // it was on its way when the session was closed
    const auto now = scheduler.now();
    if (answer.renewed) {
        began_ = now;
        own_writes.session_began(); // not at the end of the one before, which has some nodes told of as lost
        if (has_chroot())
            chroot_.session_began(should_be_over_);
    }
    epoch_open_ = true;
    lease.notice_lapse(now);
    id_ = answer.session_id;
    overdue_ = false;
    overdue_timer_.call_off();
    reconnected_ = std::exchange(connected_before_, true);
    if (reconnected_)
        counters_.reconnects.add();
    server_proved_ = false;
    refusal_logged_ = false;
    lease.open(answer, now);
    may_lag_ = !answer.renewed && (may_lag_ || answer.may_lag || own_writes.known_by_event());
    const bool waits = chroot_.due() && chroot_.known();
    if (chroot_.due())
        look_at_chroot();
    if (!waits)
        begin_epoch_in_time();
}

/// See chroot_check. What the first session finds is only taken note of.
void session::look_at_chroot()
{
    const bool begins = chroot_.known();
    store.exists("/", false, [this, begins](const store::stat_reply& seen) {
        if (chroot_.is_another(seen))
            log(log_level::warning, "the node of the chroot ", options.chroot,
                " is another than in the session before: the names of the servers have led to another ensemble, or it "
                "was made anew; nothing is done for ",
                std::max(chroot_.not_before() - scheduler.now(), lease_clock::duration::zero()),
                ", until the session before should be over");
        if (begins && !chroot_.due() && !over)
            begin_epoch_in_time();
    });
}

void session::begin_epoch_in_time()
{
    if (scheduler.now() < chroot_.not_before())
        chroot_timer_.plan(chroot_.not_before(), [this] { catch_up_first(); });
    else if (may_lag_)
        catch_up_first();
    else
        compare_first({});
}

/// A server that lags would show nodes of ours as gone. So nobody hears of the epoch before it has caught up. It does so
/// by a transaction that writes nothing: even one that is refused is agreed on by a majority. A sync may be answered by
/// a leader that others have replaced, and that does not know it yet.
void session::catch_up_first()
{
    store::batch_write nothing;
    nothing.path = "/";
    const auto answered = [this](const store::reply& answer) {
        if (over || answer.result == store::outcome::unknown)
            return; // all is over, or the end of the epoch is on its way
        may_lag_ = false;
        compare_first(answer);
    };
    store.batch({&nothing, 1}, answered);
}

/// Servers that were set back may show nodes of ours as gone, too. `caught_up`: the answer to what went before.
void session::compare_first(std::optional<store::reply> caught_up)
{
    own_writes.compare([this, caught_up] {
        begin_epoch();
        if (caught_up && connected)
            catching_up_ = catch_up_state::done;
        if (caught_up)
            wrote(*caught_up);
    });
}

void session::distrust_servers(std::string_view node, std::string_view what_it_shows)
{
    log(log_level::warning, "the ensemble was set back: ", node, ' ', what_it_shows, "; session ",
        store::session_name{id_}, " is ended, with all its nodes, and a new one will be opened");
    lease.end(); // before anybody can hold what this session holds
    lease.tell_lapse();
    store.give_up_session();
}

void session::begin_epoch()
{
    lease.epoch_began();
    connected = true;
    lost_containers.epoch_began(); // first of all: what users make now must not be taken for what was lost
    // They were called before: what a lock does now may make another node of the one that a transaction looks for.
    requests.epoch_began();
    lost_creates.epoch_began();
    for (session_member* member : members())
        member->epoch_began();
    containers.proceed();
    lease.plan_beat();
    if (lease.impossible())
        refuse_all(lease.granted_timeout());
    change(connection_state::connected);
}

void session::refuse_all(std::chrono::milliseconds granted)
{
    if (log.on(log_level::error))
        log(log_level::error, too_short_for_a_lease(options, granted));
    for (session_member* member : members())
        member->refuse_all(errc::invalid_option);
}

void session::contact_lost()
{
    if (!std::exchange(connected, false))
        return;
    catching_up_ = catch_up_state::not_asked;
    if (handoffs)
        handoffs->did_not_catch_up();
    for (session_member* member : members_)
        member->contact_lost();
}

void session::on_disconnected()
{
    if (over)
        return;
    counters_.disconnects.add();
    should_be_over_ = lease.connection_ended(scheduler.now());
    epoch_open_ = false;
    chroot_timer_.call_off();
    contact_lost(); // known to all before the end of the epoch makes one of them have another do something
    end_epoch();
    change(connection_state::suspended);
}

void session::on_expired()
{
    if (over)
        return;
    counters_.expiries.add();
    id_ = 0;
    lease.end();
    overdue_timer_.call_off();
    tell_expiry();
    change(connection_state::connecting);
}

void session::on_authentication_failed()
{
    if (over)
        return;
    counters_.authentication_failures.add();
    stop(errc::authentication_failed);
    change(connection_state::failed);
}

// --- members ---------------------------------------------------------------------------------------------------------

void session::add(session_member& member)
{
    member.place_ = members_.insert(members_.end(), &member);
}

void session::remove(session_member& member)
{
    members_.erase(member.place_);
    budget.forget(member);
    lease.forget(member);
}

bool session::owns_child(std::string_view path, std::string_view child) const
{
    return lost_creates.knows(path, child) || listeners.own_child(path, child);
}

void session::on_node_event(store::event_kind kind, std::string_view node)
{
    const bool gone = kind == store::event_kind::deleted;
    if (gone)
        listeners.watch_used_up(node);
    if (gone && owns_child(queue::parent_of(node), queue::name_of(node)))
        own_writes.lost_to_others(node);
    if (gone)
        own_writes.all_lost_to_others(node);
    listeners.tell_event(kind, node);
}

void session::end_epoch()
{
    listeners.epoch_ended();
    writes.epoch_ended();
    requests.epoch_ended();
    for (session_member* member : members())
        member->epoch_ended();
    containers.epoch_ended();
    watch_overdue();
}

// --- end -------------------------------------------------------------------------------------------------------------

void session::stop(errc why)
{
    over = why;
    connected = false;
    chroot_timer_.call_off();
    overdue_timer_.call_off();
    id_ = 0;
    lease.end();
    for (session_member* member : members())
        member->stop(why);
    requests.stop(why);
}

void session::close(std::function<void()> closed)
{
    if (gone_)
        return news.tell(std::move(closed));
    closed_.push_back(std::move(closed));
    if (std::exchange(closing_, true))
        return;
    stop(errc::closed);
    change(connection_state::closed);
    store.close([this] { tell_closed(); });
}

/// Comes last of all: after the answers to what was called while this was on its way, too.
void session::tell_closed()
{
    news.tell([this] {
        if (!news.empty())
            return tell_closed();
        gone_ = true;
        for (const auto& f : std::exchange(closed_, {}))
            f();
    });
}

} // namespace zklock::recipes

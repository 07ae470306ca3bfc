#include "recipes/session/session.hpp"

#include "queue/node_path.hpp"
#include "recipes/session/option_faults.hpp"

namespace zklock::recipes {

session::session(store::node_store& servers, store::scheduler& time, counters::connection_counters& counted,
                 const client_options& asked_for, std::function<std::string()> uuids, store::peers* peers)
    : surroundings{servers, time, counted, asked_for, std::move(uuids)},
      handoffs_(peers ? std::make_unique<recipes::handoffs>(*peers) : nullptr)
{
    store.attach(*this);
    if (peers)
        peers->attach(*handoffs_);
}

session::~session()
{
    connected_ = false; // nothing is sent any more
}

std::optional<lease_clock::duration> session::without_lease_for() const
{
    return connected_ && !lease_.renewable(scheduler.now()) ? std::optional(shown_.lasts()) : std::nullopt;
}

std::optional<errc> session::why_unusable(const std::string& path, bool known) const
{
    if (over_)
        return over_;
    if (!known)
        if (const auto fault = find_path_fault(path, options.chroot))
            return report_path_fault(*this, path, *fault);
    if (connected_ && lease_.impossible())
        return errc::invalid_option;
    return std::nullopt;
}

void session::fail(const boost::system::error_code& why, std::string_view words) noexcept
{
    connected_ = false;
    shown_.set_id(0);
    log(log_level::error, "the client has failed, and has cut its connection: ", words,
        "; all its locks are lost, and its session is left to its time-out");
    shown_.tell_listener(connection_state::failed, why);
}

// --- what the store tells --------------------------------------------------------------------------------------------

void session::on_connected(const store::connect_reply& answer)
{
    if (over_)
        return; // it was on its way when the session was closed
    const auto now = scheduler.now();
    if (answer.renewed) {
        losses_.session_began(now);
        own_writes_.session_began(); // not at the end of the one before, which has some nodes told of as lost
        checks_.session_began(lease_.session_over_at());
    }
    lease_.notice_lapse(now);
    shown_.set_id(answer.session_id);
    if (catch_up_.connected())
        counters.reconnects.add();
    server_proved_ = false;
    lease_.open(answer, now);
    checks_.begin(answer);
}

void session::distrust_servers(std::string_view node, std::string_view what_it_shows)
{
    log(log_level::warning, "the ensemble was set back: ", node, ' ', what_it_shows, "; session ",
        store::session_name{id()}, " is ended, with all its nodes, and a new one will be opened");
    lease_.end(); // before anybody can hold what this session holds
    lease_.tell_lapse();
    store.give_up_session();
}

void session::begin_epoch(const std::optional<store::reply>& caught_up)
{
    lease_.epoch_began();
    connected_ = true;
    lost_containers_.epoch_began(); // first of all: what users make now must not be taken for what was lost
    // They were called before: what a lock does now may make another node of the one that a transaction looks for.
    requests_.proceed();
    lost_creates_.epoch_began();
    tell_members(&session_member::epoch_began);
    containers_.proceed();
    lease_.plan_beat();
    if (lease_.impossible())
        refuse_all();
    shown_.change(connection_state::connected);
    if (caught_up && connected_)
        catch_up_.caught_up();
    if (caught_up)
        wrote(*caught_up);
}

void session::wrote(const store::reply& answer)
{
    lease_.heard(answer);
    if (answer.result != store::outcome::ok || !connected_ || std::exchange(server_proved_, true))
        return;
    lost_creates_.server_proved();
    if (handoffs_)
        handoffs_->writes->server_proved();
}

void session::refuse_all()
{
    if (log.on(log_level::error))
        log(log_level::error, too_short_for_a_lease(options, lease_.granted_timeout()));
    tell_members(&session_member::refuse_all, errc::invalid_option);
}

void session::unwatch(const std::string& path)
{
    store.unwatch(path, [this](const store::reply& answer) {
        if (answer.result == store::outcome::unknown)
            contact_lost();
    });
}

void session::contact_lost()
{
    if (!std::exchange(connected_, false))
        return;
    catch_up_.contact_lost();
    for (session_member* member : members_)
        member->contact_lost();
}

void session::on_disconnected()
{
    if (over_)
        return;
    counters.disconnects.add();
    checks_.call_off();
    contact_lost(); // known to all before the end of the epoch makes one of them have another do something
    listeners_.epoch_ended();
    writes_.epoch_ended();
    requests_.epoch_ended();
    tell_members(&session_member::epoch_ended);
    lease_.connection_ended(scheduler.now());
    shown_.change(connection_state::suspended);
}

void session::on_expired()
{
    if (over_)
        return;
    counters.expiries.add();
    shown_.set_id(0);
    lease_.end();
    lost_creates_.session_ended();
    tell_members(&session_member::session_ended);
    shown_.change(connection_state::connecting);
}

void session::on_authentication_failed()
{
    if (over_)
        return;
    counters.authentication_failures.add();
    stop(errc::authentication_failed);
    shown_.change(connection_state::failed);
}

// --- members ---------------------------------------------------------------------------------------------------------

void session::add(session_member& member)
{
    member.place_ = members_.insert(members_.end(), &member);
}

void session::remove(session_member& member)
{
    members_.erase(member.place_);
    budget_.forget(member);
    lease_.forget(member);
}

bool session::owns_child(std::string_view path, std::string_view child) const
{
    return lost_creates_.knows(path, child) || listeners_.own_child(path, child);
}

void session::on_node_event(store::event_kind kind, std::string_view node)
{
    const bool gone = kind == store::event_kind::deleted;
    if (gone)
        listeners_.watch_used_up(node);
    if (gone && owns_child(queue::parent_of(node), queue::name_of(node)))
        own_writes_.lost_to_others(node);
    if (gone)
        own_writes_.all_lost_to_others(node);
    listeners_.tell_event(kind, node);
}

void session::found_gone(std::string_view node)
{
    listeners_.watch_used_up(node);
    if (owns_child(queue::parent_of(node), queue::name_of(node)))
        own_writes_.found_gone(node);
    listeners_.tell_event(store::event_kind::deleted, node);
}

void session::tell_overdue()
{
    shown_.change(connection_state::connecting);
    tell_members(&session_member::session_overdue);
}

// --- end -------------------------------------------------------------------------------------------------------------

void session::stop(errc why)
{
    over_ = why;
    connected_ = false;
    checks_.call_off();
    shown_.set_id(0);
    lease_.end();
    tell_members(&session_member::stop, why);
    requests_.stop(why);
}

void session::close(std::function<void()> closed)
{
    if (gone_)
        return news_.tell(std::move(closed));
    closed_.push_back(std::move(closed));
    if (std::exchange(closing_, true))
        return;
    stop(errc::closed);
    shown_.change(connection_state::closed);
    store.close([this] { tell_closed(); });
}

/// Comes last of all: after the answers to what was called while this was on its way, too.
void session::tell_closed()
{
    news_.tell([this] {
        if (!news_.empty())
            return tell_closed();
        gone_ = true;
        for (const auto& f : std::exchange(closed_, {}))
            f();
    });
}

} // namespace zklock::recipes

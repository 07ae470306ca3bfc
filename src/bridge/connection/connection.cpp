#include "bridge/connection/connection.hpp"

#include "bridge/names/host_list.hpp"
#include "runtime/stopped_with_owner.hpp"

#include <utility>

namespace zklock::bridge {

connection::connection(const runtime::strand& strand, std::shared_ptr<runtime::turns> turns, client_options options,
                       counters::counter& requests)
    : store_requests(*turns, inbox_, wire_, options_, options.chroot), turns_(std::move(turns)),
      options_(std::move(options)), made_(requests), wire_(inbox_, *this, options_), strand_(strand),
      resolver_(std::make_shared<host_resolver>(strand, parse_servers(options_.servers).value(), turns_)),
      connector_({options_.session_timeout, options_.connect_backoff, options_.connect_backoff_limit,
                  resolver_->has_names(), options_.server_tick, options_.lease_margin},
                 std::random_device{}(), clock::now()),
      alarm_(strand), dialer_(*this, options_, strand, connector_, wire_, socket_)
{
}

std::shared_ptr<connection> make_connection(const runtime::strand& strand, const client_options& options,
                                            counters::counter& requests, const std::shared_ptr<runtime::turns>& turns)
{
    auto made = std::make_shared<connection>(strand, turns, options, requests);
    turns->add(runtime::turns::kind::store, made);
    return runtime::stopped_with_owner(std::move(made));
}

void connection::attach(zklock::store::observer& observer)
{
    observer_ = &observer;
    if (strand_)
        post([](connection& c) { c.take(c.connector_.begin(connector::moment::now())); });
}

// ---- connecting

void connection::take(connector::step next)
{
    if (connector_.take_names_missing())
        wire_.log()(log_level::warning, "host names are still being resolved",
                    next == connector::step::attempt ? "; trying known addresses" : "");
    if (connector_.take_unanswered())
        wire_.log()(log_level::warning, "host names cannot be asked, and the session should be over: from "
                                        "now on the servers at their last addresses are believed");
    note_unreachable();
    switch (next) {
    case connector::step::wait: break;
    case connector::step::resolve: resolve(); break;
    case connector::step::attempt:
        history_.attempt_begins();
        dialer_.attempt(history_.asks());
        break;
    case connector::step::end_attempt:
        if (socket_.relay() && wire_.is_dialing())
            connector_.name_unanswered();
        wire_.end_attempt();
        refresh();
        break;
    case connector::step::leave:
        wire_.leave();
        refresh();
        break;
    case connector::step::finish: finish_closing(); break;
    }
    if (const auto due = connector_.due())
        wake_at(*due);
}

/// Where there is no step to take, the library has to be asked, if it has a socket.
void connection::go_on(connector::step next)
{
    if (next == connector::step::wait && connector_.attempting_or_connected() && !wire_.is_dialing())
        refresh();
    else
        take(next);
}

void connection::resolve()
{
    resolver_->resolve(
        connector_.last_loss(),
        [weak = weak_from_this()](const host_port& server, const std::string& why) {
            if (auto self = weak.lock())
                self->wire_.log()(log_level::warning, "cannot resolve ", server.host, ": ", why);
        },
        [weak = weak_from_this()] {
            if (auto self = weak.lock())
                self->go_on_with_attempt([&] { self->tell_names(); });
        });
    tell_names();
}

void connection::tell_names()
{
    take(connector_.names_known({resolver_->found(), resolver_->busy(), resolver_->complete()},
                                connector::moment::now()));
}

void connection::go_on_with_attempt(const std::function<void()>& step)
{
    in_turn([&] {
        step();
        deliver();
    });
}

// ---- the log

void connection::note_unreachable()
{
    const auto now = clock::now();
    if (unreachable_ || !wire_.log().on(log_level::error) || !connector_.is_cut_off(now))
        return;
    unreachable_ = true;
    std::string failures;
    for (const auto& [address, line] : this->failures())
        failures.append(failures.empty() ? "" : "; ").append(line);
    wire_.log()(log_level::error, "no session with any server of ", options_.servers, ", for ",
                connector_.unconnected_for(now), " now", failures.empty() ? "" : ": ", failures);
}

std::map<std::string, std::string> connection::failures()
{
    auto all = wire_.log().failures();
    if (resolver_)
        for (const auto& [host, why] : resolver_->unresolved())
            all.emplace(host, "cannot resolve " + host + ": " + why);
    if (auto now = wire_.attempt())
        all.emplace(wire_.log().address(), *std::move(now)); // unless one has ended
    if (connector_.keeps_losing()) {
        const std::string& address = connector_.last_lost_unproved()->text;
        all[address] = address + " was connected, and lost before it was of use for long, the last of " +
                       std::to_string(connector_.lost_unproved()) + " in a row";
    }
    return all;
}

void connection::note_reached()
{
    if (std::exchange(unreachable_, false))
        wire_.log()(log_level::warning, "there is a session with a server again, after ",
                    connector_.unconnected_for(clock::now()));
}

} // namespace zklock::bridge

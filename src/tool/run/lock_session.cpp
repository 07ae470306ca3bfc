#include "tool/run/lock_session.hpp"

#include "tool/keeper/process_tree.hpp"
#include "tool/program/client_program.hpp"
#include "tool/program/exit_status.hpp"
#include "tool/run/other_kind.hpp"

#include <zklock/errc.hpp>
#include <zklock/events.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace zklock::tool {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using kind = event::kind;

lock_session::lock_session(asio::io_context& io, const run_plan& plan, keeper* commands, voice& out)
    : plan_(plan), commands_(commands), out_(out), events_(io.get_executor()),
      signals_(io,
               [this](int number) {
                   events_.put({kind::caught, number});
               }),
      ticks_(io), zk_(io, log_.attached_to(listening(io, plan.client))), lock_(zk_, plan.lock),
      deadline_(plan.wait ? lease_clock::now() + *plan.wait : lease_clock::time_point::max())
{
    if (commands_ != nullptr)
        commands_->listen(io, [this](std::optional<report> said) {
            keeper_gone_ = !said;
            event what(said ? kind::reported : kind::keeper_ended);
            what.said = said.value_or(report());
            events_.put(std::move(what));
        });
}

lock_session::~lock_session()
{
    if (commands_ != nullptr)
        commands_->stop_listening(); // the context may go before the keeper
}

client_options lock_session::listening(asio::io_context& io, client_options options)
{
    options.listener =
        listen_to_connection(io.get_executor(), [this](const connection_event& news) { connection_changed(news); });
    return options;
}

/// Tells of a connection that was lost, and found again.
void lock_session::connection_changed(const connection_event& news)
{
    const std::string servers = printable(plan_.client.servers);
    if (news.state == connection_state::connected) {
        const auto before = std::exchange(session_, news.session_id);
        if (std::exchange(cut_off_, false))
            out_.tell("reconnected", {{"servers", plan_.client.servers}, {"new_session", session_ != before}},
                      fmt::format("connected to {} again{}", servers, session_ != before ? ", in a new session" : ""));
    } else if (session_ != 0 && news.state != connection_state::closed && !std::exchange(cut_off_, true)) {
        std::string held;
        const auto left = held_ ? held_->held_until() - lease_clock::now() : lease_clock::duration(0);
        if (left > lease_clock::duration(0)) // a lock that was lost has no lease
            held = fmt::format(": {} can be held for {:.1f} s without one", printable(plan_.lock.path),
                               std::chrono::duration<double>(left).count());
        out_.tell("disconnected", {{"servers", plan_.client.servers}},
                  fmt::format("the connection to {} is lost{}", servers, held));
    }
}

/// The next event of that kind. A signal that asks the tool to end cancels what is waited for. So does the end of the
/// keeper, without which there will be no command.
asio::awaitable<event> lock_session::finish(kind what)
{
    for (;;) {
        event next = co_await events_.take();
        if (next.what == what)
            co_return next;
        if (next.what == kind::caught && ends_the_tool(next.number)) {
            asked_to_end_ = next.number;
            cancel_.emit(asio::cancellation_type::total);
        } else if (next.what == kind::keeper_ended) {
            cancel_.emit(asio::cancellation_type::total);
        } else if (next.what == kind::tick && progress_) {
            progress_->look();
            tick_after(milliseconds(1000));
        }
    }
}

void lock_session::tick_after(milliseconds time)
{
    ticks_.expires_after(time);
    ticks_.async_wait([this](error_code error) {
        if (!error)
            events_.put(kind::tick);
    });
}

asio::awaitable<int> lock_session::connect()
{
    if (commands_ != nullptr && !sees_processes())
        out_.warn("no_proc", {}, "there is no /proc: what leaves the command's process group will not be stopped");
    auto limit = plan_.connect_timeout.count() != 0 ? lease_clock::duration(plan_.connect_timeout)
                                                    : lease_clock::duration::max();
    if (plan_.wait && plan_.wait->count() != 0)
        limit = std::min(limit, lease_clock::duration(*plan_.wait));
    zk_.wait_connected(limit, asio::bind_cancellation_slot(cancel_.slot(), [this](error_code error) {
                           events_.put({kind::connected, error});
                       }));
    auto connected = finish(kind::connected);
    const event outcome = co_await std::move(connected);
    if (asked_to_end_ != 0)
        co_return signal_base + asked_to_end_;
    if (keeper_gone_)
        co_return without_keeper();
    if (outcome.error)
        co_return no_connection_because(outcome.error);
    log_.connected();
    out_.tell("connected", {{"servers", plan_.client.servers}}, "connected to " + plan_.client.servers);
    co_return succeeded;
}

int lock_session::no_connection_because(error_code why)
{
    return tell_unconnected(out_, plan_.client.servers, why, log_.trouble());
}

/// The keeper has ended while there was no command.
int lock_session::without_keeper()
{
    out_.warn("keeper_ended", {}, "the process that is to keep watch over the command has ended");
    cannot_go_on_ = true;
    return failed;
}

asio::awaitable<int> lock_session::acquire()
{
    if (keeper_gone_)
        co_return without_keeper();
    const auto handed_over = zk_.metrics().handoff.taken;
    std::optional<milliseconds> limit = plan_.wait;
    if (limit && limit->count() != 0) // what is left of it: at least one look
        limit = std::max(milliseconds(1), std::chrono::ceil<milliseconds>(deadline_ - lease_clock::now()));
    lock_.acquire(limit, cancel_.slot(), [this](error_code error, std::optional<hold> held) {
        event outcome(kind::acquired, error);
        outcome.held = std::move(held);
        events_.put(std::move(outcome));
    });
    if (out_.shows() && !(limit && limit->count() == 0)) {
        progress_ = std::make_shared<progress>(wanted_lock(zk_, plan_.lock), plan_.lock.path, out_);
        tick_after(milliseconds(200)); // most acquires are done by then
    }
    auto acquired = finish(kind::acquired);
    event outcome = co_await std::move(acquired);
    if (progress_) {
        progress_->end();
        progress_.reset();
        ticks_.cancel();
    }
    held_ = std::move(outcome.held);
    if (asked_to_end_ != 0 || keeper_gone_) {
        auto let_go = release();
        co_await std::move(let_go);
        co_return asked_to_end_ != 0 ? signal_base + asked_to_end_ : without_keeper();
    }
    if (!held_)
        co_return acquire_failed(outcome.error);
    granted_ = lease_clock::now();
    lease_end_ = held_->held_until();
    tell_acquired(zk_.metrics().handoff.taken != handed_over);
    // Nobody waits for it: it is asked before the lock is given back, so it is answered before.
    asio::co_spawn(ticks_.get_executor(), warn_of_other_kind(zk_, plan_.lock, out_), asio::detached);
    co_return succeeded;
}

/// @param by_certificate The one before has told that it is free, and the servers had not yet.
void lock_session::tell_acquired(bool by_certificate)
{
    boost::json::object details{{"path", plan_.lock.path}, {"node", held_->node()}, {"token", held_->token()}};
    if (!plan_.client.handoff.listen.empty())
        details["handoff"] = by_certificate;
    out_.tell("acquired", std::move(details),
              fmt::format("holding {} by {}, token {}{}", plan_.lock.path, held_->node(), held_->token(),
                          by_certificate ? ", handed over past the servers" : ""));
}

int lock_session::acquire_failed(error_code why)
{
    const std::string& path = plan_.lock.path;
    const auto waited = lock_.last_timeout();
    if (why == errc::timed_out) {
        const std::string words = waited ? to_string(*waited) : path + ": " + why.message();
        out_.warn("timed_out", {{"path", path}, {"before_us", waited ? waited->before_us : 0}, {"reason", words}},
                  words);
        return plan_.conflict_status.value_or(timed_out);
    }
    if (why == condition::not_in_time && waited && !waited->not_connected_for) {
        const std::string& servers = plan_.client.servers;
        out_.warn("no_answer", {{"servers", servers}, {"path", path}, {"reason", to_string(*waited)}},
                  fmt::format("{}: {}", printable(servers), to_string(*waited)));
        return no_connection;
    }
    if (why == condition::not_in_time)
        return no_connection_because(why);
    if (why == errc::busy) {
        out_.tell("busy", {{"path", path}}, path + " is busy");
        return plan_.conflict_status.value_or(busy);
    }
    const std::string reason = why == errc::lost ? std::string() : log_.trouble();
    std::string words = reason.empty() || why != errc::invalid_option ? why.message() : reason;
    if (!reason.empty() && why != errc::invalid_option)
        words += ": " + reason;
    out_.warn("failed", {{"path", path}, {"error", why.message()}, {"reason", log_.trouble()}}, path + ": " + words);
    if (why == errc::lost)
        return lock_lost;
    cannot_go_on_ = true;
    return why == errc::invalid_option || why == errc::invalid_path ? usage : failed;
}

/// From now on events tell of the loss, and of those who ask for the lock.
void lock_session::watch_hold()
{
    held_->wait_lost([this](error_code error) {
        if (!error)
            events_.put(kind::lost);
    });
    if (plan_.revocable)
        held_->wait_revoked([this](error_code error) {
            if (!error)
                events_.put(kind::revoked);
        });
}

void lock_session::tell_lost()
{
    const auto how = held_ ? held_->loss() : std::nullopt;
    const std::string_view reason = to_string(how ? how->reason : loss_reason::lease_ended);
    out_.warn("lost", {{"path", plan_.lock.path}, {"reason", reason}},
              fmt::format("lost {}: {}", plan_.lock.path, reason));
}

asio::awaitable<int> lock_session::hold_only()
{
    watch_hold();
    for (;;) {
        const event next = co_await events_.take();
        if (next.what == kind::lost) {
            tell_lost();
            co_return lock_lost;
        }
        if (next.what == kind::revoked) {
            out_.tell("revoked", {{"path", plan_.lock.path}}, "asked to let go");
            co_return succeeded;
        }
        if (next.what == kind::caught && ends_the_tool(next.number)) {
            asked_to_end_ = next.number;
            co_return succeeded;
        }
    }
}

asio::awaitable<void> lock_session::hold_on(milliseconds after_grant)
{
    const auto left = [end = granted_ + after_grant] {
        return std::chrono::ceil<milliseconds>(end - lease_clock::now());
    };
    if (asked_to_end_ != 0 || cannot_go_on_ || held_->loss() || left().count() <= 0)
        co_return;
    out_.tell("holding_on", {{"path", plan_.lock.path}}, "holding on to " + plan_.lock.path);
    while (left().count() > 0) {
        tick_after(left()); // one that was set before does no harm
        const event next = co_await events_.take();
        if (next.what == kind::lost) {
            tell_lost();
            held_.reset(); // nothing to give back; and the command had ended before
            co_return;
        }
        if (next.what == kind::caught && ends_the_tool(next.number))
            co_return;
        if (next.what == kind::revoked) {
            out_.tell("revoked", {{"path", plan_.lock.path}}, "asked to let go");
            co_return;
        }
    }
}

asio::awaitable<int> lock_session::release()
{
    if (!held_)
        co_return succeeded;
    hold held = std::move(*held_);
    held_.reset();
    const bool was_lost = held.loss().has_value();
    std::move(held).release([this](error_code error) { events_.put({kind::released, error}); });
    auto done = finish(kind::released);
    const event outcome = co_await std::move(done);
    if (outcome.error == errc::lost && !was_lost)
        out_.warn("lost", {{"path", plan_.lock.path}, {"reason", "node_deleted"}},
                  "lost " + plan_.lock.path + ": its node was gone when it was to be deleted");
    else if (outcome.error && !was_lost) // it goes with the session at the latest
        out_.warn("failed", {{"path", plan_.lock.path}, {"error", outcome.error.message()}},
                  "giving back " + plan_.lock.path + ": " + outcome.error.message());
    else if (!was_lost)
        out_.tell("released", {{"path", plan_.lock.path}}, "released " + plan_.lock.path);
    co_return outcome.error == errc::lost ? lock_lost : succeeded;
}

asio::awaitable<int> lock_session::pause(milliseconds time)
{
    const auto end = lease_clock::now() + time;
    tick_after(time);
    for (;;) {
        const event next = co_await events_.take();
        if (next.what == kind::tick) { // which may be one that was set before
            const auto left = std::chrono::ceil<milliseconds>(end - lease_clock::now());
            if (left.count() <= 0)
                co_return succeeded;
            tick_after(left);
        }
        if (next.what == kind::keeper_ended)
            co_return without_keeper();
        if (next.what == kind::caught && ends_the_tool(next.number)) {
            asked_to_end_ = next.number;
            co_return signal_base + next.number;
        }
    }
}

asio::awaitable<void> lock_session::close()
{
    ticks_.cancel();
    zk_.close([this](error_code) { events_.put(kind::closed); }); // it ends in any case
    auto done = finish(kind::closed);
    co_await std::move(done);
    signals_.end();
    if (commands_ != nullptr)
        commands_->stop_listening(); // so that the context has nothing left to do
}

} // namespace zklock::tool

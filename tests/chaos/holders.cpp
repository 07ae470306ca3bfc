#include "chaos/programs.hpp"

#include "chaos/event_file.hpp"
#include "chaos/worker.hpp"
#include "support/as_tuple.hpp"
#include "zklock/zklock.hpp"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <csignal>

namespace zklock::chaos {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using std::chrono::milliseconds;

class holders {
public:
    explicit holders(const holders_options& options)
        : options_(options), clients_(options.servers.size()), terminate_(context_, SIGTERM), events_(options.events)
    {
    }

    void run()
    {
        terminate_.async_wait([this](error_code, int) {
            for (auto& c : clients_)
                if (c)
                    c->close([](error_code) {});
            terminated_ = true;
        });
        for (unsigned n = 0; n < clients_.size(); ++n)
            asio::co_spawn(context_, keep_two(n), [](std::exception_ptr e) {
                if (e)
                    std::rethrow_exception(e);
            });
        context_.run();
    }

private:
    [[nodiscard]] client_options client_options_for(const std::string& servers) const
    {
        client_options o;
        o.servers = servers;
        o.session_timeout = milliseconds(options_.session_timeout);
        o.server_tick = milliseconds(options_.server_tick);
        o.connect_backoff = milliseconds(20);
        o.connect_backoff_limit = milliseconds(100);
        return o;
    }

    awaitable<void> keep_two(unsigned n)
    {
        // Of some four heartbeats in a time-out: this spreads those of the clients evenly.
        asio::steady_timer phase(context_, milliseconds(options_.session_timeout / 4) * n / clients_.size());
        co_await phase.async_wait(test::as_tuple);
        if (terminated_)
            co_return;
        clients_[n].emplace(context_, client_options_for(options_.servers[n]));
        asio::co_spawn(context_, keep(n, "held", "lost"), [](std::exception_ptr e) {
            if (e)
                std::rethrow_exception(e);
        });
        asio::steady_timer timer(context_);
        while (first_held_.size() <= n || !first_held_[n]) { // so that the second comes second
            first_held_.resize(clients_.size());
            timer.expires_after(milliseconds(5));
            co_await timer.async_wait(test::as_tuple);
            if (clients_[n]->state() == connection_state::closed)
                co_return;
        }
        co_await keep(n, "held-second", "lost-second");
    }

    awaitable<void> keep(unsigned n, const char* got, const char* lost)
    {
        mutex lock(*clients_[n], path_of(n));
        auto ended = co_await lock.acquire(test::as_tuple);
        const auto at = now();
        guard held = std::move(std::get<guard>(ended));
        if (std::get<error_code>(ended) || !held)
            co_return; // closed, or over before it was noticed
        const auto token = held.fencing_token();
        events_.note(got, n, at, token, in_nanoseconds(held.held_until().time_since_epoch()));
        first_held_[n] = true;
        instant told = 0;
        held.wait_lost([&told](error_code ec) { told = ec ? -1 : now(); });
        asio::steady_timer timer(context_);
        instant lease = 0;
        while (told == 0) {
            if (held)
                lease = in_nanoseconds(held.held_until().time_since_epoch());
            timer.expires_after(milliseconds(10));
            co_await timer.async_wait(test::as_tuple);
        }
        if (told > 0)
            events_.note(lost, n, told, token, lease);
    }

    holders_options options_;
    asio::io_context context_;
    std::vector<std::optional<client>> clients_;
    asio::signal_set terminate_;
    event_file events_;
    std::vector<bool> first_held_;
    bool terminated_ = false;
};

} // namespace

int run_holders(const holders_options& options)
{
    holders h(options);
    h.run();
    return 0;
}

} // namespace zklock::chaos

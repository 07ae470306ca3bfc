// What `doctor` finds of each server, and of all of them together.
#include "tool/doctor/doctor.hpp"
#include "tool/doctor/server_words.hpp"
#include "tool/program/client_log.hpp"
#include "tool/program/client_program.hpp"
#include "tool/program/voice.hpp"

#include <zklock/errc.hpp>
#include <zklock/result.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

/// What a server says of itself; empty if it does not say. `srvr` is the one word that all servers answer by default.
asio::awaitable<std::string> mode_of(server_address server, milliseconds limit, findings& found)
{
    auto asking = ask_server(server, "srvr", limit);
    result<std::string> answer = co_await std::move(asking);
    if (answer.has_error())
        co_return std::string(); // the session, which is tried next, tells why
    const std::string mode = value_in(answer.value(), "Mode");
    const std::string version = value_in(answer.value(), "Zookeeper version");
    const std::string first_line = answer.value().substr(0, answer.value().find('\n'));
    if (mode.empty())
        found.doubtful("server", fmt::format("{} does not say its mode: {}", server.text(), printable(first_line)),
                       {{"server", server.text()}});
    else
        found.good("server",
                   fmt::format("{} is {}, ZooKeeper {}", server.text(), printable(mode),
                               printable(version.substr(0, version.find(',')), 40)),
                   {{"server", server.text()}, {"mode", mode}, {"version", version}});
    co_return mode;
}

/// Whether its ticks are as long as the lease takes them to be at most. Where `conf` is not on the server's list of
/// words that it answers (4lw.commands.whitelist), nobody can tell.
asio::awaitable<void> examine_tick(server_address server, milliseconds longest, milliseconds limit, findings& found)
{
    auto asking = ask_server(server, "conf", limit);
    result<std::string> answer = co_await std::move(asking);
    const std::string told = answer.has_error() ? std::string() : value_in(answer.value(), "tickTime");
    std::int64_t tick = 0;
    if (std::from_chars(told.data(), told.data() + told.size(), tick).ec != std::errc() || tick <= 0)
        co_return;
    const boost::json::object details{{"server", server.text()}, {"tick", tick}};
    if (tick > longest.count())
        found.bad("tick",
                  fmt::format("{} has a tickTime of {} ms, and the lease counts on {} ms at most: say so to all "
                              "clients (--server-tick, client_options::server_tick), or two may hold one lock",
                              server.text(), tick, longest.count()),
                  details);
    else
        found.good("tick",
                   fmt::format("{} has a tickTime of {} ms, and the lease counts on {} ms at most", server.text(), tick,
                               longest.count()),
                   details);
}

/// Whether a client of that server alone gets a session, and how long a one.
asio::awaitable<bool> open_session(const connection_arguments& connection, server_address server, milliseconds limit,
                                   findings& found)
{
    client_log log;
    client_options options = options_of(connection);
    options.servers = server.text() + chroot_in(connection.servers);
    client zk(co_await asio::this_coro::executor, log.attached_to(options));
    const auto began = lease_clock::now();
    auto connecting = connect(zk, limit);
    const error_code refused = co_await std::move(connecting);
    const auto took = std::chrono::duration_cast<milliseconds>(lease_clock::now() - began);
    if (refused) {
        const std::string why = log.trouble().empty() ? refused.message() : log.trouble();
        found.bad("session", fmt::format("{}: {}", server.text(), why), {{"server", server.text()}});
    } else {
        found.good("session", fmt::format("{}: {}, after {} ms", server.text(), log.session(), took.count()),
                   {{"server", server.text()}, {"milliseconds", took.count()}});
        if (connection.sasl.mechanism != sasl_mechanism::off) {
            auto examining = examine_identity(zk, server.text(), connection.sasl.mechanism, found);
            co_await std::move(examining);
        }
    }
    auto closing = zk.close();
    static_cast<void>(co_await std::move(closing)); // it takes a bounded time
    co_return !refused;
}

} // namespace

asio::awaitable<bool> examine_servers(const connection_arguments& connection, findings& found)
{
    constexpr milliseconds longest(5000); // for each, also where the limit is none
    const milliseconds asked_for = seconds(connection.connect_timeout);
    const milliseconds limit = asked_for.count() == 0 ? longest : std::min(asked_for, longest);
    std::size_t usable = 0;
    std::size_t leaders = 0;
    std::size_t with_mode = 0;
    const std::vector<server_address> servers = servers_in(connection.servers);
    for (const server_address& server : servers) {
        if (!connection.tls.enabled) { // behind TLS it would answer, too, but only to another client
            auto asking = mode_of(server, limit, found);
            const std::string mode = co_await std::move(asking);
            with_mode += mode.empty() ? 0 : 1;
            leaders += mode == "leader" || mode == "standalone" ? 1 : 0;
            if (!mode.empty()) {
                auto comparing = examine_tick(server, options_of(connection).server_tick, limit, found);
                co_await std::move(comparing);
            }
        }
        auto opening = open_session(connection, server, limit, found);
        const bool usable_one = co_await std::move(opening);
        usable += usable_one ? 1 : 0;
    }
    if (usable == 0)
        found.bad("servers", "no server can be used");
    else if (usable < servers.size())
        found.doubtful("servers", fmt::format("{} of {} can be used", usable, servers.size()));
    if (leaders > 1)
        found.bad("servers", "more than one of them leads: they are no ensemble together");
    else if (leaders == 0 && with_mode == servers.size() && with_mode != 0)
        found.doubtful("servers", "none of them leads: the list does not name all of the ensemble");
    co_return usable != 0;
}

} // namespace zklock::tool

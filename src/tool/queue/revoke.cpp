#include "tool/program/client_program.hpp"
#include "tool/program/exit_status.hpp"
#include "tool/queue/queue_commands.hpp"
#include "tool/queue/queue_listing.hpp"

#include <zklock/semaphore.hpp>
#include <zklock/shared_mutex.hpp>

#include <boost/json/object.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;

asio::awaitable<result<std::size_t>> ask(client zk, const queue_listing& listing)
{
    shared_mutex lock(zk, listing.path); // it also knows the nodes of a mutex
    auto asking = lock.revoke_holders();
    result<std::size_t> asked = co_await std::move(asking);
    if (asked.has_error() || !listing.semaphore)
        co_return asked;
    semaphore gate(zk, listing.path, 1);
    auto asking_permits = gate.revoke_holders();
    result<std::size_t> permits = co_await std::move(asking_permits);
    if (permits.has_error())
        co_return permits;
    co_return asked.value() + permits.value();
}

asio::awaitable<int> ask_holders(client zk, std::string path, bool json, voice& out)
{
    // Who they were can be read no more once they were asked.
    auto reading = list_queue(zk, path);
    result<queue_listing> listing = co_await std::move(reading);
    if (listing.has_error())
        co_return tell_failed(out, path, listing.error());
    auto asking = ask(zk, listing.value());
    result<std::size_t> asked = co_await std::move(asking);
    if (asked.has_error())
        co_return tell_failed(out, path, asked.error());
    if (json) {
        boost::json::object line = to_json(listing.value(), std::chrono::system_clock::now());
        line["asked"] = asked.value();
        fmt::print("{}", json_line(line));
    } else {
        for (const listed& each : listing.value().all)
            if (each.holds && asked.value() != 0)
                fmt::print("asked {} ({})\n",
                           each.who.revoked ? "one who was asked before" : printable(each.who.identifier),
                           printable(each.who.node));
        if (asked.value() == 0)
            fmt::print("{}: nobody holds it\n", printable(path));
    }
    co_return asked.value() != 0 ? succeeded : found_wrong;
}

} // namespace

int revoke(const connection_arguments& connection, const std::string& path)
{
    check_path(path);
    voice out(false, connection.json);
    return report_with_client(connection, out, [&](client zk) { return ask_holders(zk, path, connection.json, out); });
}

} // namespace zklock::tool

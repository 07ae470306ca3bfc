#include "tool/program/client_program.hpp"
#include "tool/program/exit_status.hpp"
#include "tool/queue/queue_commands.hpp"
#include "tool/queue/queue_listing.hpp"

#include <boost/json/serialize.hpp>

#include <fmt/format.h>

#include <utility>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;

asio::awaitable<int> print(client zk, const std::vector<std::string>& paths, bool json, voice& out)
{
    for (const std::string& path : paths) {
        auto reading = list_queue(zk, path);
        result<queue_listing> listing = co_await std::move(reading);
        if (listing.has_error())
            co_return tell_failed(out, path, listing.error());
        const auto now = std::chrono::system_clock::now();
        fmt::print("{}",
                   json ? boost::json::serialize(to_json(listing.value(), now)) + '\n' : to_text(listing.value(), now));
    }
    co_return succeeded;
}

} // namespace

int list(const connection_arguments& connection, const std::vector<std::string>& paths)
{
    for (const std::string& path : paths)
        check_path(path);
    voice out(false, connection.json);
    return report_with_client(connection, out, [&](client zk) { return print(zk, paths, connection.json, out); });
}

} // namespace zklock::tool

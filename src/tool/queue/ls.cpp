#include "tool/program/client_program.hpp"
#include "tool/program/exit_status.hpp"
#include "tool/queue/queue_commands.hpp"
#include "tool/queue/queue_listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;

class lister {
public:
    lister(client zk, const list_arguments& given, voice& out) : zk_(std::move(zk)), given_(given), out_(out) {}

    asio::awaitable<int> run()
    {
        bool all_held = true;
        for (const std::string& path : given_.paths) {
            held_ = false;
            auto looking = look(path);
            co_await std::move(looking);
            all_held = all_held && held_;
        }
        co_return status_ != succeeded ? status_ : given_.held && !all_held ? found_wrong : succeeded;
    }

private:
    /// At a path, and below it if that is wanted: in the order of a tree.
    asio::awaitable<void> look(std::string root)
    {
        bool shown = false;
        std::vector<std::string> waiting{root};
        while (!waiting.empty()) {
            const std::string path = std::move(waiting.back());
            waiting.pop_back();
            auto reading = list_queue(zk_, path);
            result<queue_listing> read = co_await std::move(reading);
            if (read.has_error()) {
                status_ = tell_failed(out_, printable(path), read.error()); // others may be readable all the same
                shown = true;
                continue;
            }
            const queue_listing& listing = read.value();
            held_ = held_ || std::ranges::any_of(listing.all, &listed::holds);
            if (!given_.below || (path == root && !listing.there) || !listing.all.empty())
                shown = show(listing) || shown;
            if (given_.below)
                for (const std::string& name : std::views::reverse(listing.below))
                    waiting.push_back((path == "/" ? "" : path) + '/' + name);
        }
        if (!shown && !given_.held && !given_.connection.json)
            fmt::print("{}: nobody, and nobody below\n", printable(root));
    }

    [[nodiscard]] bool show(const queue_listing& listing) const
    {
        if (given_.held)
            return false;
        const auto now = std::chrono::system_clock::now();
        fmt::print("{}", given_.connection.json ? json_line(to_json(listing, now)) : to_text(listing, now));
        return true;
    }

    client zk_;
    const list_arguments& given_;
    voice& out_;
    bool held_ = false; ///< somebody holds a lock that was looked at
    int status_ = succeeded;
};

asio::awaitable<int> print(client zk, const list_arguments& given, voice& out)
{
    lister it(std::move(zk), given, out);
    auto running = it.run();
    co_return co_await std::move(running);
}

} // namespace

int list(const list_arguments& given)
{
    for (const std::string& path : given.paths)
        if (!given.below || path != "/")
            check_path(path);
    voice out(false, given.connection.json);
    return report_with_client(given.connection, out, [&](client zk) { return print(zk, given, out); });
}

} // namespace zklock::tool

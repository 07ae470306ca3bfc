#include "tool/program/client_program.hpp"
#include "tool/program/exit_status.hpp"
#include "tool/program/standard_error.hpp"
#include "tool/queue/queue_commands.hpp"
#include "tool/queue/queue_listing.hpp"

#include <zklock/errc.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;

/// A contender by its path, its name, or the number in it.
bool is_meant(const listed& one, const std::string& wanted)
{
    return one.who.node == wanted || one.who.node.ends_with('/' + wanted) || std::to_string(one.who.sequence) == wanted;
}

/// Asks, and waits for the answer; the client goes on meanwhile.
asio::awaitable<bool> confirm(listed one, std::string path)
{
    write_to_stderr(fmt::format("{} {} {} (session {:#x}).\n"
                                "If that program is alive, it and the next one will be inside at the same time.\n"
                                "Delete {}? [y/N] ",
                                printable(one.who.identifier), one.holds ? "holds" : "waits for", printable(path),
                                static_cast<std::uint64_t>(one.who.session_id), printable(one.who.node)));
    asio::posix::stream_descriptor terminal(co_await asio::this_coro::executor, ::dup(STDIN_FILENO));
    auto waiting = terminal.async_wait(asio::posix::stream_descriptor::wait_read, asio::as_tuple(asio::use_awaitable));
    co_await std::move(waiting);
    std::string answer;
    std::getline(std::cin, answer); // a terminal gives whole lines
    co_return answer == "y" || answer == "Y" || answer == "yes";
}

class breaking {
public:
    breaking(client zk, const break_arguments& given, voice& out) : zk_(std::move(zk)), given_(given), out_(out) {}

    asio::awaitable<int> run()
    {
        auto first = find(given_.node);
        int status = co_await std::move(first);
        while (status == succeeded && !given_.yes) {
            const listed asked = found_;
            auto confirming = confirm(asked, given_.path);
            const bool yes = co_await std::move(confirming);
            if (!yes) {
                out_.warn("left", {{"node", asked.who.node}}, "nothing was deleted");
                co_return found_wrong;
            }
            auto again = find(asked.who.node); // the answer may have taken long
            status = co_await std::move(again);
            if (found_.holds == asked.holds)
                break;
        }
        if (status != succeeded)
            co_return status;
        auto removing = remove(found_.who.node);
        co_return co_await std::move(removing);
    }

private:
    /// Looks for the one contender that is meant; says so if there is none, or more.
    asio::awaitable<int> find(std::string which)
    {
        auto reading = list_queue(zk_, given_.path);
        result<queue_listing> listing = co_await std::move(reading);
        if (listing.has_error())
            co_return tell_failed(out_, printable(given_.path), listing.error());
        const auto& all = listing.value().all;
        const auto meant = [&](const listed& one) { return is_meant(one, which); };
        if (const auto count = std::ranges::count_if(all, meant); count != 1) {
            const std::string path = printable(given_.path);
            out_.warn("not_found", {{"path", given_.path}, {"node", which}},
                      which == found_.who.node ? printable(which) + " has gone by itself"
                                               : fmt::format("{} nodes of {} are {}", count, path, printable(which)));
            co_return found_wrong;
        }
        found_ = *std::ranges::find_if(all, meant);
        co_return succeeded;
    }

    asio::awaitable<int> remove(std::string node)
    {
        auto removing = zk_.remove(node);
        result<void> removed = co_await std::move(removing);
        if (removed.has_error() && removed.error() == errc::no_node) {
            out_.warn("not_found", {{"node", node}}, printable(node) + " has gone by itself");
            co_return found_wrong;
        }
        if (removed.has_error())
            co_return tell_failed(out_, printable(node), removed.error());
        const boost::json::object words{{"path", given_.path}, {"deleted", node}};
        fmt::print("{}", given_.connection.json ? json_line(words) : "deleted " + printable(node) + '\n');
        co_return succeeded;
    }

    client zk_;
    const break_arguments& given_;
    voice& out_;
    listed found_;
};

asio::awaitable<int> delete_node(client zk, const break_arguments& given, voice& out)
{
    breaking it(std::move(zk), given, out);
    auto running = it.run();
    co_return co_await std::move(running);
}

} // namespace

int break_node(const break_arguments& given)
{
    check_path(given.path);
    if (!given.yes && ::isatty(STDIN_FILENO) != 1)
        throw usage_error("break asks before it deletes, and stdin is no terminal: say --yes");
    voice out(false, given.connection.json);
    return report_with_client(given.connection, out, [&](client zk) { return delete_node(zk, given, out); });
}

} // namespace zklock::tool

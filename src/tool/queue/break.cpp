#include "tool/program/client_program.hpp"
#include "tool/program/exit_status.hpp"
#include "tool/queue/queue_commands.hpp"
#include "tool/queue/queue_listing.hpp"

#include <zklock/errc.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
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

/// The server's heartbeats stop while we wait for somebody at a terminal: nothing is held meanwhile.
bool confirmed(const listed& one, const std::string& path)
{
    fmt::print(stderr,
               "{} {} {} (session {:#x}).\n"
               "If that program is alive, it and the next one will be inside at the same time.\n"
               "Delete {}? [y/N] ",
               printable(one.who.identifier), one.holds ? "holds" : "waits for", path,
               static_cast<std::uint64_t>(one.who.session_id), printable(one.who.node));
    std::fflush(stderr);
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

asio::awaitable<int> delete_node(client zk, const break_arguments& given, voice& out)
{
    const bool json = given.connection.json;
    auto reading = list_queue(zk, given.path);
    result<queue_listing> listing = co_await std::move(reading);
    if (listing.has_error())
        co_return tell_failed(out, given.path, listing.error());
    const auto& all = listing.value().all;
    const auto count = std::ranges::count_if(all, [&](const listed& one) { return is_meant(one, given.node); });
    if (count != 1) {
        out.warn("not_found", {{"path", given.path}, {"node", utf8(given.node)}},
                 fmt::format("{} nodes of {} are {}", count, given.path, printable(given.node)));
        co_return found_wrong;
    }
    const listed& one = *std::ranges::find_if(all, [&](const listed& each) { return is_meant(each, given.node); });
    if (!given.yes && !confirmed(one, given.path)) {
        out.warn("left", {{"node", one.who.node}}, "nothing was deleted");
        co_return found_wrong;
    }
    const std::string node = one.who.node;
    auto removing = zk.remove(node);
    result<void> removed = co_await std::move(removing);
    if (removed.has_error() && removed.error() == errc::no_node) {
        out.warn("not_found", {{"node", node}}, node + " has gone by itself");
        co_return found_wrong;
    }
    if (removed.has_error())
        co_return tell_failed(out, node, removed.error());
    fmt::print("{}\n", json ? boost::json::serialize(boost::json::object{{"path", given.path}, {"deleted", node}})
                            : "deleted " + node);
    co_return succeeded;
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

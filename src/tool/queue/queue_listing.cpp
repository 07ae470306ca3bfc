#include "tool/queue/queue_listing.hpp"

#include "tool/program/voice.hpp"

#include <zklock/errc.hpp>
#include <zklock/semaphore.hpp>
#include <zklock/shared_mutex.hpp>

#include <boost/json/array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;

/// A node's first grant has the token czxid * 4096; more count on from there, where a client hands its node on.
constexpr std::int64_t grants_of_a_czxid = 4096;

std::string name_of(const std::string& node)
{
    return node.substr(node.rfind('/') + 1);
}

bool has(const std::vector<std::string>& children, const char* name)
{
    return std::ranges::find(children, name) != children.end();
}

asio::awaitable<result<void>> add(client zk, queue_listing& to, std::vector<contender> some, std::size_t holders,
                                  bool permits)
{
    for (std::size_t i = 0; i < some.size(); ++i) {
        listed each;
        each.holds = i < holders;
        each.permit = permits;
        if (!permits) { // the token of permits is that of a place in the line, which has gone
            auto looked = zk.exists(some[i].node);
            result<std::optional<node_stat>> stat = co_await std::move(looked);
            if (stat.has_error())
                co_return stat.error();
            if (stat.value())
                each.token = stat.value()->czxid * grants_of_a_czxid;
        }
        each.who = std::move(some[i]);
        to.all.push_back(std::move(each));
    }
    co_return boost::outcome_v2::success();
}

/// The first holds; if it is a reader, so do those behind it up to the first writer.
std::size_t count_holders(const std::vector<contender>& queue)
{
    if (queue.empty() || !queue.front().shared)
        return std::min<std::size_t>(queue.size(), 1);
    return static_cast<std::size_t>(std::ranges::find(queue, false, &contender::shared) - queue.begin());
}

asio::awaitable<result<void>> add_mutex(client zk, queue_listing& to)
{
    shared_mutex lock(zk, to.path); // it also knows the nodes of a mutex
    auto reading = lock.contenders();
    result<std::vector<contender>> queue = co_await std::move(reading);
    if (queue.has_error())
        co_return queue.error();
    const std::size_t holders = count_holders(queue.value());
    auto adding = add(zk, to, std::move(queue).value(), holders, false);
    co_return co_await std::move(adding);
}

asio::awaitable<result<void>> add_semaphore(client zk, queue_listing& to)
{
    semaphore gate(zk, to.path, 1);
    auto holding = gate.holders();
    result<std::vector<contender>> holders = co_await std::move(holding);
    if (holders.has_error())
        co_return holders.error();
    const std::size_t count = holders.value().size();
    auto adding = add(zk, to, std::move(holders).value(), count, true);
    result<void> added = co_await std::move(adding);
    if (added.has_error())
        co_return added;
    auto waiting = gate.contenders();
    result<std::vector<contender>> line = co_await std::move(waiting);
    if (line.has_error())
        co_return line.error();
    auto adding_line = add(zk, to, std::move(line).value(), 0, true);
    co_return co_await std::move(adding_line);
}

std::string in_seconds(std::chrono::system_clock::duration age)
{
    const auto s = std::chrono::duration_cast<std::chrono::seconds>(age).count();
    if (s < 600)
        return fmt::format("{} s", s);
    if (s < 36'000)
        return fmt::format("{} min", s / 60);
    return s < 864'000 ? fmt::format("{} h", s / 3600) : fmt::format("{} d", s / 86'400);
}

} // namespace

asio::awaitable<result<queue_listing>> list_queue(client zk, std::string path)
{
    queue_listing listing;
    listing.path = std::move(path);
    auto children = zk.children(listing.path);
    result<std::vector<std::string>> names = co_await std::move(children);
    if (names.has_error()) {
        if (names.error() == errc::no_node)
            co_return listing;
        co_return names.error();
    }
    listing.there = true;
    listing.below = std::move(names).value();
    std::ranges::sort(listing.below);
    if (listing.path == "/") { // no lock can be there, and one child is the servers' own
        std::erase(listing.below, "zookeeper");
        co_return listing;
    }
    listing.semaphore = has(listing.below, "locks") && has(listing.below, "leases");
    auto adding = add_mutex(zk, listing);
    result<void> added = co_await std::move(adding);
    if (!added.has_error() && listing.semaphore) {
        auto adding_permits = add_semaphore(zk, listing);
        added = co_await std::move(adding_permits);
    }
    if (added.has_error())
        co_return added.error();
    std::erase_if(listing.below, [&](const std::string& name) {
        return (listing.semaphore && (name == "locks" || name == "leases")) ||
               std::ranges::any_of(listing.all, [&](const listed& each) { return name_of(each.who.node) == name; });
    });
    co_return listing;
}

bool queue_listing::of_both_kinds() const
{
    return !all.empty() && !all.front().permit && all.back().permit;
}

namespace {

std::string to_row(const listed& each, system_time now)
{
    return fmt::format("  {:<8}{:>11}  {:<#18x}  {:>8}  {:>16}  {:<22} {}\n",
                       each.holds ? (each.who.shared ? "reads" : "holds") : (each.who.shared ? "reader" : "waits"),
                       each.who.sequence, static_cast<std::uint64_t>(each.who.session_id),
                       in_seconds(each.who.age(now)), each.token == 0 ? "-" : std::to_string(each.token),
                       each.who.revoked ? "(asked to let go)" : printable(each.who.identifier),
                       printable(name_of(each.who.node)));
}

} // namespace

std::string to_text(const queue_listing& listing, system_time now)
{
    const std::string path = printable(listing.path);
    if (listing.all.empty())
        return path + (listing.there ? ": nobody\n" : ": not there, so nobody\n");
    std::string text;
    for (const bool permits : {false, true}) {
        if (std::ranges::find(listing.all, permits, &listed::permit) == listing.all.end())
            continue;
        text +=
            fmt::format("{}{}\n  {:<8}{:>11}  {:<18}  {:>8}  {:>16}  {:<22} {}\n", path, permits ? " (semaphore)" : "",
                        "", "SEQUENCE", "SESSION", "AGE", "TOKEN", "IDENTIFIER", "NODE");
        for (const listed& each : listing.all)
            if (each.permit == permits)
                text += to_row(each, now);
    }
    if (listing.of_both_kinds())
        text += path + ": a mutex and a semaphore, which do not exclude each other\n";
    return text;
}

boost::json::object to_json(const queue_listing& listing, system_time now)
{
    boost::json::array all;
    for (const listed& each : listing.all) {
        boost::json::object properties;
        for (const auto& [key, value] : each.who.properties)
            properties[key] = value;
        boost::json::object entry{{"node", each.who.node},
                                  {"holds", each.holds},
                                  {"shared", each.who.shared},
                                  {"permit", each.permit},
                                  {"sequence", each.who.sequence},
                                  {"session", fmt::format("{:#x}", static_cast<std::uint64_t>(each.who.session_id))},
                                  {"identifier", each.who.revoked ? std::string() : each.who.identifier},
                                  {"revoked", each.who.revoked},
                                  {"age", std::chrono::duration<double>(each.who.age(now)).count()},
                                  {"properties", std::move(properties)}};
        if (each.token != 0)
            entry["token"] = each.token;
        all.push_back(std::move(entry));
    }
    return {{"path", listing.path},
            {"exists", listing.there},
            {"semaphore", listing.semaphore},
            {"contenders", std::move(all)}};
}

} // namespace zklock::tool

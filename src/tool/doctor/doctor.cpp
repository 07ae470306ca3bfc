#include "tool/doctor/doctor.hpp"

#include "tool/program/client_program.hpp"
#include "tool/program/exit_status.hpp"
#include "tool/program/run_program.hpp"
#include "tool/program/voice.hpp"
#include "tool/queue/queue_listing.hpp"

#include <zklock/errc.hpp>
#include <zklock/mutex.hpp>
#include <zklock/node.hpp>

#include <boost/asio/io_context.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <chrono>
#include <utility>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;
using std::chrono::duration;

std::string parent_of(const std::string& path)
{
    const auto slash = path.rfind('/');
    return slash == 0 || slash == path.npos ? "/" : path.substr(0, slash);
}

std::string below(const std::string& parent, const std::string& name)
{
    return (parent == "/" ? parent : parent + '/') + name;
}

asio::awaitable<int> examine(client zk, const connection_arguments& connection, std::string path, findings& found)
{
    found.good("TLS",
               connection.tls.enabled ? "on; the servers' certificates are in order" : "off: what is said can be read");
    if (connection.sasl.mechanism == sasl_mechanism::digest_md5 && !connection.tls.enabled)
        found.doubtful("SASL", "DIGEST-MD5 without TLS: who listens can try passwords, and change what is said");
    auto lease = examine_lease(zk, options_of(connection).clock_drift, path, found);
    co_await std::move(lease);
    if (!path.empty()) {
        auto access = examine_access(zk, path, found);
        co_await std::move(access);
        auto queue = examine_queue(zk, path, found);
        co_await std::move(queue);
    }
    co_return found.all_well() ? succeeded : found_wrong;
}

} // namespace

asio::awaitable<void> examine_lease(client zk, double drift, std::string path, findings& found)
{
    const std::string probe = below(path.empty() ? "/" : parent_of(path), fmt::format("zklock-doctor-{}", ::getpid()));
    mutex lock(zk, probe);
    auto acquiring = lock.acquire(std::chrono::seconds(10));
    acquired<guard> held = co_await std::move(acquiring);
    if (!held) {
        found.bad("lock", fmt::format("{} cannot be acquired: {}", probe, held.error().message()),
                  {{"error", to_string(static_cast<errc>(held.error().value()))}});
        co_return;
    }
    const duration<double> left = held.value().held_until() - lease_clock::now();
    auto looking = zk.exists(held.value().node());
    result<std::optional<node_stat>> stat = co_await std::move(looking);
    const auto now = std::chrono::system_clock::now();
    auto releasing = std::move(held).value().release();
    result<void> released = co_await std::move(releasing);
    if (released.has_error())
        found.bad("lock", fmt::format("{} cannot be released: {}", probe, released.error().message()));
    auto removing = zk.remove(probe);
    static_cast<void>(co_await std::move(removing)); // it is a container: else the servers will
    found.good("lease",
               fmt::format(
                   "without the servers a lock is held for {:.1f} s more; it allows for clocks that run {:.1f} % apart",
                   left.count(), drift * 100),
               {{"seconds", left.count()}});
    if (stat.has_error() || !stat.value())
        co_return;
    // Both times are of a moment ago. Leases do not depend on what o'clock it is.
    const double off = duration<double>(stat.value()->created - now).count();
    const std::string text = fmt::format("the leader's clock is {:+.1f} s from ours", off);
    if (off > 5 || off < -5)
        found.doubtful("clock", text + ": ages of nodes are wrong by that, locks are not", {{"seconds", off}});
    else
        found.good("clock", text, {{"seconds", off}});
}

asio::awaitable<void> examine_access(client zk, std::string path, findings& found)
{
    for (std::string node = path;; node = parent_of(node)) {
        auto reading = zk.get_acl(node);
        result<node_access> access = co_await std::move(reading);
        if (access.has_error() && access.error() == errc::no_node) {
            if (node == "/") {
                found.bad("access", "the chroot's node is not there");
                co_return;
            }
            if (node == path)
                found.good("access", path + " is not there: whoever acquires first makes it");
            continue;
        }
        if (access.has_error())
            found.bad("access", fmt::format("{}: {}", node, access.error().message()), {{"node", node}});
        else
            found.good("access", fmt::format("{}: {}", node, printable(to_string(access.value().list))),
                       {{"node", node}, {"list", to_string(access.value().list)}});
        co_return;
    }
}

asio::awaitable<void> examine_queue(client zk, std::string path, findings& found)
{
    auto reading = list_queue(zk, path);
    result<queue_listing> listing = co_await std::move(reading);
    if (listing.has_error()) {
        found.bad("queue", fmt::format("{}: {}", path, listing.error().message()));
        co_return;
    }
    const auto now = std::chrono::system_clock::now();
    std::size_t waiting = 0;
    for (const listed& each : listing.value().all) {
        const std::string node = printable(each.who.node);
        if (each.who.session_id == 0) {
            found.bad("queue",
                      fmt::format("{} belongs to no session: it will never go by itself. zklock break {} {}", node,
                                  path, each.who.sequence),
                      {{"node", each.who.node}});
        } else if (each.holds) {
            const auto age = std::chrono::duration_cast<std::chrono::seconds>(each.who.age(now)).count();
            const std::string who =
                each.who.revoked ? "one who was asked to let go, and has not yet" : printable(each.who.identifier);
            const std::string text = fmt::format("held by {} since {} s or less, session {:#x}: {}", who, age,
                                                 static_cast<std::uint64_t>(each.who.session_id), node);
            if (each.who.revoked)
                found.doubtful("queue", text, {{"node", each.who.node}});
            else
                found.good("queue", text, {{"node", each.who.node}});
        }
        waiting += each.holds ? 0 : 1;
    }
    if (listing.value().all.empty())
        found.good("queue", path + " is free");
    else
        found.good("queue", fmt::format("{} wait", waiting), {{"waiting", waiting}});
}

int doctor(const connection_arguments& connection, const std::string& path)
{
    if (!path.empty())
        check_path(path);
    check(options_of(connection));
    findings found(connection.json);
    const auto all = [&]() -> asio::awaitable<int> {
        auto examining = examine_servers(connection, found);
        const bool usable = co_await std::move(examining);
        co_return usable ? succeeded : no_connection;
    };
    if (const int status = run_program(make_context(), all()); status != succeeded)
        return status;
    voice out(false, connection.json);
    return report_with_client(connection, out, [&](client zk) { return examine(zk, connection, path, found); });
}

} // namespace zklock::tool

#include "tool/run/run_arguments.hpp"

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace zklock::tool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds usual_session{10'000};
constexpr milliseconds longest_session{std::numeric_limits<std::int32_t>::max()}; // of a client

/// What the keeper and the kernel have to end processes that were killed.
milliseconds reserve_for(milliseconds session)
{
    return std::min(milliseconds(250), session / 16);
}

/// How long a command has between TERM and KILL, and how long a session has to be for it.
///
/// The lease of a session of S is certain for 0.99 S after a heartbeat (clock_drift). A heartbeat counts when the next
/// one is answered, S/4 later at most (interval() in recipes/lease/lease.hpp), and the next but one is due S/4 after
/// that. So this much of a lease is always left, as long as all heartbeats are answered:
///
///     0.99 S - S/4 - S/4 = 0.49 S        for S of five ticks or more
///
/// The stop has to begin kill_after + reserve before the end of the lease (client_options::loss_notice). What remains,
/// 0.49 S - kill_after - reserve, is how long the servers may be silent without costing a lock that could be kept. If
/// nothing was said, that is to be a quarter of the session, so S is 4.2 (kill_after + reserve), or 10 s if that is
/// more. If the session was said, kill_after is a fifth of it, 2 s at most. If both were said, they are taken as they
/// are: the client refuses what leaves no room for two heartbeats; so it does when the servers grant less than S.
void plan_stop(const run_arguments& given, run_plan& plan)
{
    const auto& session = given.connection.session_timeout;
    const milliseconds stated = session ? seconds(*session) : usual_session;
    const milliseconds kill_after =
        given.kill_after ? seconds(*given.kill_after) : std::min(milliseconds(2000), stated / 5);
    plan.client.session_timeout = stated;
    if (!session) {
        const milliseconds needed = (kill_after + reserve_for(stated)) * 42 / 10;
        if (needed > longest_session)
            throw usage_error(fmt::format("--kill-after is {:.15g} s, and has to be {} s at most", *given.kill_after,
                                          longest_session * 10 / 42 / std::chrono::seconds(1)));
        plan.client.session_timeout = std::max(stated, needed);
    }
    plan.stop.kill_after = kill_after;
    plan.stop.reserve = reserve_for(plan.client.session_timeout);
    plan.client.loss_notice = std::chrono::duration_cast<milliseconds>(plan.stop.notice());
}

/// Reads a variable; the text is empty if it is not set.
std::string from_environment(const char* name)
{
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::vector<std::string> command_of(const run_arguments& given)
{
    if (!given.shell)
        return given.command;
    if (given.command.size() != 1)
        throw usage_error("-c takes one command for the shell, as a single argument");
    const std::string shell = from_environment("SHELL");
    return {shell.empty() ? "/bin/sh" : shell, "-c", given.command.front()};
}

void add_handoff_arguments(CLI::App& app, handoff_options& to)
{
    const std::string group = "Hand-off past the servers";
    auto* const on = app.add_option("--handoff", to.listen,
                                    "tell and hear directly that the lock is free: where to listen; port 0 is any")
                         ->envname("ZKLOCK_HANDOFF")
                         ->type_name("ADDRESS:PORT")
                         ->group(group);
    app.add_option("--handoff-advertise", to.advertise,
                   "where others reach us, if that is elsewhere; else ZKLOCK_HANDOFF_ADVERTISE")
        ->type_name("ADDRESS[:PORT]")
        ->needs(on)
        ->group(group);
    app.add_option("--handoff-peers", to.peers, "the networks where others are; else ZKLOCK_HANDOFF_PEERS")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("NET[,NET...]")
        ->needs(on)
        ->group(group);
}

/// What the environment says counts only where a lock is handed over at all: it may be set for all programs of a site.
handoff_options handoff_of(const run_arguments& given)
{
    handoff_options all = given.handoff;
    if (all.listen.empty() || given.lock.limit != 0)
        return {};
    if (all.advertise.empty())
        all.advertise = from_environment("ZKLOCK_HANDOFF_ADVERTISE");
    if (const std::string peers = from_environment("ZKLOCK_HANDOFF_PEERS"); all.peers.empty() && !peers.empty()) {
        boost::split(all.peers, peers, boost::is_any_of(","));
        std::erase(all.peers, std::string()); // behind a comma at the end
    }
    return all;
}

} // namespace

void add_run_arguments(CLI::App& app, run_arguments& to)
{
    app.add_option("PATH", to.lock.path, "the lock, such as /locks/backup")->required();
    app.add_flag("-c,--command", to.shell, "COMMAND is one line for the shell ($SHELL, or /bin/sh)");
    app.add_option("--kill-after", to.kill_after,
                   "how long the command has between TERM and KILL when it is stopped [2]")
        ->check(is_seconds())
        ->type_name("SECS");
    app.add_flag("--revocable", to.revocable, "stop the command when somebody asks for the lock (zklock revoke)");
    app.add_flag("-v,--verbose", to.verbose,
                 "tell what happens; on a terminal also the place in the queue, and the holder");
    add_handoff_arguments(app, to.handoff);
    add_connection_arguments(app, to.connection);
}

void add_lock_arguments(CLI::App& app, run_arguments& to)
{
    auto* now = app.add_flag("-n,--nonblock", to.no_wait, "do not wait if the lock is not free");
    auto* wait =
        app.add_option("-w,--timeout", to.wait, "wait no longer than that")->check(is_seconds())->type_name("SECS");
    now->excludes(wait);
    app.add_option("-E,--conflict-exit-code", to.conflict_status,
                   "the exit status when the lock was not to be had [121, 124]")
        ->check(CLI::Range(0, 255))
        ->type_name("CODE");
    auto* shared = app.add_flag("-s,--shared", to.lock.shared, "as a reader: with other readers, and no writer");
    auto* exclusive = app.add_flag("-x,--exclusive", to.exclusive, "alone, which is the default");
    auto* limit = app.add_option("--limit", to.lock.limit, "up to N at once (a semaphore; all have to say the same N)")
                      ->check(CLI::Range(1U, 1U << 30U))
                      ->type_name("N");
    app.add_option("--hold-at-least", to.hold_at_least,
                   "hold the lock until so long after its grant, even if the command has ended before")
        ->check(is_seconds())
        ->type_name("SECS");
    shared->excludes(exclusive);
    limit->excludes(shared)->excludes(exclusive);
}

run_plan plan_of(const run_arguments& given)
{
    run_plan plan;
    plan.client = options_of(given.connection);
    plan.client.handoff = handoff_of(given);
    plan.lock = given.lock;
    if (given.no_wait)
        plan.wait = milliseconds(0);
    else if (given.wait)
        plan.wait = seconds(*given.wait);
    plan.conflict_status = given.conflict_status;
    plan.connect_timeout = seconds(given.connection.connect_timeout);
    plan.command = command_of(given);
    if (given.hold_at_least && plan.command.empty())
        throw usage_error("--hold-at-least is for a command: without one, the lock is held until a signal comes");
    plan.hold_at_least = seconds(given.hold_at_least.value_or(0));
    plan.revocable = given.revocable;
    plan.verbose = given.verbose;
    plan.json = given.connection.json;
    plan_stop(given, plan);
    check(plan.client);
    check_path(plan.lock.path);
    return plan;
}

} // namespace zklock::tool

// The check of a chaos run's history finds what it is there for.
#include "chaos/history.hpp"
#include "chaos/round_plan.hpp"
#include "chaos/server_faults.hpp"
#include "support/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

using namespace zklock::chaos;

namespace {

constexpr instant ms = 1'000'000;

operation held(instant from, instant until, std::int64_t token)
{
    operation o;
    o.path = "/a";
    o.mode = "unlimited";
    o.started = from - 1 * ms;
    o.ended = from;
    o.outcome = "granted";
    o.token = token;
    o.held = true;
    o.believed = until;
    o.released = until + 1 * ms;
    o.release_outcome = "ok";
    o.told = until;
    o.told_outcome = "aborted";
    return o;
}

/// A write to /a by the first operation of a process; it was refused.
write_record refused(int process, std::int64_t token, instant sent, instant arrived)
{
    return {.process = process, .operation = 1, .path = "/a", .token = token, .sent = sent, .arrived = arrived};
}
write_record accepted(int process, std::int64_t token, instant sent)
{
    auto w = refused(process, token, sent, sent + 1 * ms);
    w.accepted = true;
    return w;
}

/// Two processes that hold one after the other, and write.
history sound()
{
    history h;
    h.session_timeout = 1000 * ms;
    h.patience = 1000 * ms;
    h.processes[1].operations[1] = held(100 * ms, 200 * ms, 5);
    h.processes[1].closed = 900 * ms;
    h.processes[2].operations[1] = held(210 * ms, 300 * ms, 6);
    h.processes[2].closed = 900 * ms;
    h.writes = {accepted(1, 5, 150 * ms), accepted(2, 6, 250 * ms)};
    return h;
}

bool complains(const history& h, const std::string& about)
{
    const auto found = violations(h);
    const bool named = std::any_of(found.begin(), found.end(), [&](const auto& v) { return v.find(about) != v.npos; });
    if (!named)
        for (const auto& v : found)
            MESSAGE(v);
    return named;
}

} // namespace

TEST_CASE("a sound history")
{
    const auto found = violations(sound());
    CHECK(found.empty());
    const auto s = summarise(sound());
    CHECK(s.operations == 2);
    CHECK(s.grants == 2);
    CHECK(s.accepted == 2);
}

TEST_CASE("two holders at once")
{
    auto h = sound();
    h.processes[1].operations[1].believed = 211 * ms;
    CHECK(complains(h, "TWO HOLDERS"));
    h.processes[1].operations[1].held = false; // it knew from the beginning that it held no longer
    h.processes[1].operations[1].lost = true;
    CHECK_FALSE(complains(h, "TWO HOLDERS"));
}

TEST_CASE("two holders at once, the first of which was killed")
{
    auto h = sound();
    auto& first = h.processes[1];
    first.operations[1].believed.reset();
    first.killed = 205 * ms;
    CHECK(violations(h).empty());
    first.killed = 220 * ms;
    CHECK(complains(h, "TWO HOLDERS"));
}

TEST_CASE("a long hold overlaps a later one, with a short one in between")
{
    auto h = sound();
    h.processes[1].operations[1].believed = 500 * ms;
    h.processes[2].operations[2] = held(400 * ms, 410 * ms, 7);
    const auto found = violations(h);
    CHECK(std::count_if(found.begin(), found.end(), [](auto& v) { return v.find("TWO HOLDERS") != v.npos; }) == 2);
}

TEST_CASE("tokens that do not grow")
{
    auto h = sound();
    h.processes[2].operations[1].token = 4;
    CHECK(complains(h, "smaller token"));
    h.processes[2].operations[1].token = 5;
    CHECK(complains(h, "was given to"));
    h.processes[2].operations[1].token = 0;
    CHECK(complains(h, "granted with token 0"));
}

TEST_CASE("operations that do not complete, or twice, or too late, or too early")
{
    auto h = sound();
    auto& o = h.processes[2].operations[2];
    o.path = "/a";
    o.mode = "timed";
    o.started = 100 * ms;
    o.limit = 200 * ms;
    CHECK(complains(h, "never completed"));
    CHECK(servers_may_have_caused(h, true));
    CHECK_FALSE(servers_may_have_caused(h, false));
    o.outcome = "timed_out";
    o.ended = 199 * ms;
    CHECK(complains(h, "early"));
    o.outcome = "not_connected";
    CHECK(complains(h, "early"));
    o.ended = 201 * ms;
    CHECK(violations(h).empty());
    o.outcome = "timed_out";
    CHECK(violations(h).empty());
    o.ended = 1300 * ms;
    CHECK(complains(h, "late"));
    CHECK_FALSE(servers_may_have_caused(h, true));
    h.processes[2].pauses.emplace_back(150 * ms, 900 * ms);
    CHECK(violations(h).empty());
    o.outcome = "lost";
    CHECK(violations(h).empty());
    o.outcome = "aborted";
    CHECK(complains(h, "ended with aborted"));
    h.processes[2].twice.push_back("end 1");
    CHECK(complains(h, "noted twice"));
    CHECK_FALSE(servers_may_have_caused(h, true));
    h.processes[1].closed.reset();
    CHECK(complains(h, "did not come to its end"));
}

TEST_CASE("losses that are not told, and holds that never end")
{
    auto h = sound();
    auto& o = h.processes[1].operations[1];
    o.lost = true;
    CHECK(complains(h, "lost its lock, and was told: aborted"));
    CHECK(complains(h, "lost its lock, and the release ended with ok"));
    o.told_outcome = o.release_outcome = "lost";
    CHECK(violations(h).empty());
    o.release_outcome = "dropped";
    CHECK(violations(h).empty());
    o.told_outcome = "aborted";
    CHECK(violations(h).empty());
    o.told_outcome = "busy";
    CHECK(complains(h, "lost its lock, and was told: busy"));
    o.told.reset();
    CHECK(complains(h, "never told"));
    o.released.reset();
    CHECK(complains(h, "never came to its release"));
}

TEST_CASE("a holder that still believes after a pause longer than its session")
{
    auto h = sound();
    auto& p = h.processes[2];
    p.operations[1].believed = 2000 * ms;
    CHECK(violations(h).empty());
    p.pauses.emplace_back(250 * ms, 1300 * ms);
    CHECK(complains(h, "after a pause"));
}

TEST_CASE("writes that should not have been let in, or not be refused")
{
    auto h = sound();
    h.writes.push_back(refused(1, 5, 190 * ms, 320 * ms));
    CHECK(violations(h).empty()); // it was on its way when the next one wrote
    h.writes.back().sent = 310 * ms;
    CHECK(complains(h, "after another had written"));
    h.writes.back().accepted = true;
    CHECK(complains(h, "was let in"));
    h.writes.back().accepted = false;
    h.writes.back().token = 7;
    CHECK(complains(h, "refused with the largest"));
    CHECK(complains(h, "had no such token"));
}

TEST_CASE("the write of a process that had stopped between its look and the write")
{
    auto h = sound();
    h.writes.push_back(refused(1, 5, 190 * ms, 320 * ms));
    h.writes.back().stopped = true;
    CHECK(violations(h).empty());
    CHECK(summarise(h).refused_after_stop == 1);
    CHECK(summarise(h).accepted_after_stop == 0);
    h.writes.back().accepted = true;
    CHECK(complains(h, "was let in"));
}

TEST_CASE("what a process noted")
{
    const zklock::test::temporary_directory directory;
    const auto file = directory.path() / "events";
    std::ofstream(file)
        << "start 1 100 timed 50 /a mutex\nend 1 120 granted 9 1 /a/x\ntold 1 140 aborted\nbelieved 1 130 0\n"
           "released 1 141 ok\nstart 2 150 cancelled 7 /b cohort\ncancel 2 160\nend 2 161 aborted 0 0 -\n"
           "end 2 162 aborted 0 0 -\nclosed 0 170\n";
    const auto p = read_history(file);
    REQUIRE(p.operations.size() == 2);
    const auto& o = p.operations.at(1);
    CHECK(o.path == "/a");
    CHECK(o.kind == "mutex");
    CHECK(o.node == "/a/x");
    CHECK(o.limit == 150);
    CHECK(o.ended == 120);
    CHECK(o.token == 9);
    CHECK(o.held);
    CHECK(o.believed == 130);
    CHECK_FALSE(o.lost);
    CHECK(o.released == 141);
    CHECK(p.operations.at(2).limit == 160);
    CHECK(p.twice.size() == 1);
    CHECK(p.closed == 170);
    CHECK_FALSE(last_stop(file));
    std::ofstream(file, std::ios::app) << "stop 1 125 /a 9\nstop 2 160 /b 11\n";
    REQUIRE(last_stop(file));
    CHECK(last_stop(file)->path == "/b");
    CHECK(last_stop(file)->token == 11);
    CHECK(read_history(file).operations.size() == 2);
    std::ofstream(file, std::ios::app) << "start 3 180\n";
    CHECK_THROWS_AS(static_cast<void>(read_history(file)), std::runtime_error);
}

TEST_CASE("readers hold together, and exclude writers")
{
    auto h = sound();
    h.writes.clear();
    auto& first = h.processes[1].operations[1];
    auto& second = h.processes[2].operations[1];
    first.shares = first.started;
    second.shares = second.started;
    first.believed = 250 * ms;
    CHECK(violations(h).empty());
    CHECK(summarise(h).readers == 2);
    std::swap(first.token, second.token); // in no order among themselves
    CHECK(violations(h).empty());
    second.shares.reset();
    CHECK(complains(h, "TWO HOLDERS"));
    CHECK(complains(h, "with a smaller token"));
}

TEST_CASE("a writer that reads on lets readers in, and no earlier")
{
    auto h = sound();
    h.writes.clear();
    auto& writer = h.processes[1].operations[1];
    auto& reader = h.processes[2].operations[1];
    reader.shares = reader.started;
    writer.believed = 250 * ms;
    CHECK(complains(h, "TWO HOLDERS"));
    writer.shares = 205 * ms;
    CHECK(violations(h).empty());
    CHECK(summarise(h).downgrades == 1);
    writer.shares = 215 * ms;
    CHECK(complains(h, "TWO HOLDERS"));
}

namespace {

/// Each of the two has committed once.
history with_commits()
{
    auto h = sound();
    for (const int process : {1, 2}) {
        h.processes[process].commits[7] = {.operation = 1, .ended = 290 * ms, .outcome = "ok"};
        h.executed.push_back({.path = "/a",
                              .process = process,
                              .operation = 1,
                              .number = 7,
                              .token = 4 + process,
                              .begun = process * 110 * ms});
    }
    return h;
}

} // namespace

TEST_CASE("a commit that is executed once another has the lock")
{
    CHECK(violations(with_commits()).empty());
    CHECK(summarise(with_commits()).commits == 2);
    auto h = with_commits();
    h.executed[0].begun = 230 * ms; // the next has written nothing before it
    CHECK(complains(h, "after process 2 operation 1 had the lock"));
    h = with_commits();
    std::swap(h.executed[0], h.executed[1]);
    CHECK(complains(h, "with a token smaller than one before"));
}

TEST_CASE("a commit whose outcome is not what was told")
{
    auto h = with_commits();
    h.executed.push_back(h.executed.back());
    CHECK(complains(h, "executed twice"));
    h = with_commits();
    h.executed.pop_back();
    CHECK(complains(h, "told of its commit: ok, and it was not executed"));
    h.processes[2].commits[7].outcome = "lost";
    CHECK(violations(h).empty());
    h = with_commits();
    h.processes[1].commits[7].outcome = "lost";
    CHECK(complains(h, "told of its commit: lost, and it was executed"));
    h.processes[1].commits[7].outcome = "outcome_unknown";
    CHECK(violations(h).empty());
    h.executed.push_back({.path = "/a", .process = 9, .operation = 1, .number = 1, .token = 6, .begun = 220 * ms});
    CHECK(complains(h, "process 9 has made no such commit"));
}

TEST_CASE("grants that a process has noted since the last look")
{
    const zklock::test::temporary_directory directory;
    const auto file = directory.path() / "events";
    std::streamoff read = 0;
    CHECK(grants_noted(file, read) == 0); // it is not there yet
    std::ofstream(file)
        << "start 1 100 timed 50 /a mutex\nend 1 120 granted 9 1 /a/x\nend 2 120 aborted 0 0 -\nend 3 1";
    CHECK(grants_noted(file, read) == 1);
    CHECK(grants_noted(file, read) == 0);
    std::ofstream(file, std::ios::app) << "40 granted 10 1 /a/y\n";
    CHECK(grants_noted(file, read) == 1);
}

namespace {

constexpr misfortune server_killed{"kill-leader", victim::servers, harm::killed, false};
constexpr misfortune server_stopped{"pause-leader", victim::servers, harm::stopped, true};
constexpr misfortune client_killed{"kill-client", victim::clients, harm::killed, false};
constexpr misfortune client_stopped{"pause-client", victim::clients, harm::stopped, true};
constexpr misfortune client_may_stop{"overtaken-client", victim::clients, harm::stopped, true, false};
constexpr misfortune client_slow{"slow-client", victim::clients, harm::connections, false};

round_record round_with(instant begun, instant ended, std::vector<misfortune> all)
{
    round_record r{.begun = begun, .ended = ended, .blows = {}};
    for (const auto& each : all)
        r.blows.push_back({.what = each, .struck = true});
    return r;
}

/// Each process is granted something in a round.
history in_rounds()
{
    auto h = with_commits();
    h.rounds = {round_with(50 * ms, 205 * ms, {server_killed, client_stopped}),
                round_with(205 * ms, 400 * ms, {server_stopped, client_killed})};
    return h;
}

/// What is missing, of which all has to be about that.
std::size_t missing(const history& h, const expectation& expected, const std::string& about)
{
    const auto found = missing_in(h, expected);
    for (const auto& each : found)
        CHECK_MESSAGE(each.find(about) != each.npos, each);
    return found.size();
}

} // namespace

TEST_CASE("a history in which nothing happened shows nothing")
{
    CHECK(missing(in_rounds(), {}, "") == 0);
    CHECK(missing(history(), {}, "nothing was shown") == 2); // no round, no write
    auto h = in_rounds();
    h.rounds.clear();
    CHECK(missing(h, {}, "no round") == 1);
}

TEST_CASE("a round in which nothing happens is noticed among others")
{
    auto h = in_rounds();
    h.rounds.insert(h.rounds.begin() + 1, round_with(200 * ms, 205 * ms, {client_slow}));
    CHECK(missing(h, {}, "in round 2 (slow-client) no lock was granted") == 1);
    h.rounds[1].begun = 150 * ms;
    h.rounds[1].ended = 215 * ms;
    CHECK(missing(h, {}, "") == 0);
    h.rounds[1].blows[0].struck = false;
    CHECK(missing(h, {}, "round 2 (slow-client) has hit nobody") == 1);
    h.rounds[1].blows.push_back({.what = server_killed, .struck = true}); // one is enough
    CHECK(missing(h, {}, "") == 0);
    h.processes[1].operations[1].outcome = "busy";
    CHECK(missing(h, {}, "in round 1 (kill-leader and pause-client) no lock") == 1);
}

TEST_CASE("servers and clients have to be killed and stopped, where that is expected")
{
    constexpr expectation all{.handoff = false, .every_harm = true};
    CHECK(missing(in_rounds(), all, "") == 0);
    const std::pair<std::size_t, std::size_t> places[]{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    const char* const words[]{"no server was killed", "no client was stopped", "no server was stopped",
                              "no client was killed"};
    for (std::size_t i = 0; i < std::size(places); ++i) {
        auto h = in_rounds();
        auto& blow = h.rounds[places[i].first].blows[places[i].second];
        blow.struck = false;
        CHECK(missing(h, all, words[i]) == 1);
        CHECK(missing(h, {}, "") == 0);
    }
}

TEST_CASE("with the hand-off, all has to come that it is for")
{
    constexpr expectation handoff{.handoff = true, .every_harm = false};
    const auto some_of_each = [] {
        auto h = in_rounds();
        h.writes.resize(1);
        h.processes[1].by_certificate = 1;
        auto& all = h.processes[1].operations;
        unsigned n = 1;
        const auto add = [&](const char* kind, const char* node, instant from) -> operation& {
            ++n;
            auto& o = all[n] = held(from, from + 10 * ms, 20 + n);
            o.path = "/" + std::string(kind);
            o.kind = kind;
            o.node = node;
            return o;
        };
        add("lingering", "/l/1", 400 * ms);
        add("lingering", "/l/1", 420 * ms).mode = "try";
        add("cohort", "/c/1", 400 * ms);
        add("cohort", "/c/1", 411 * ms);
        add("several", "/s/1", 500 * ms);
        add("reader", "/r/1", 500 * ms).shares = 499 * ms;
        add("writer", "/r/2", 520 * ms).shares = 525 * ms;
        auto& refused = add("mutex", "-", 540 * ms);
        refused.mode = "try";
        refused.outcome = "busy";
        return h;
    };
    CHECK(missing(some_of_each(), handoff, "") == 0);
    CHECK(missing(in_rounds(), handoff, "nothing was shown") == 8); // all but commits
    const auto one_missing = [&](auto change, const char* about) {
        auto h = some_of_each();
        change(h.processes[1].operations, h);
        CHECK(missing(h, handoff, about) == 1);
    };
    one_missing([](auto&, history& h) { h.processes[1].by_certificate = 0; }, "certificate");
    one_missing([](auto&, history& h) { h.executed.clear(); }, "commit");
    one_missing([](auto& all, history&) { all[2].released = 425 * ms; }, "lingered"); // its client waited for it
    one_missing([](auto& all, history&) { all[3].node = "/l/2"; }, "lingered");
    one_missing([](auto& all, history&) { all[3].mode = "timed"; }, "no try was granted");
    one_missing([](auto& all, history&) { all[5].node = "/c/2"; }, "cohort");
    one_missing([](auto& all, history&) { all[6].kind = "mutex"; }, "several");
    one_missing([](auto& all, history&) { all[7].shares.reset(); }, "reader");
    one_missing([](auto& all, history&) { all[8].shares.reset(); }, "read on");
    one_missing([](auto& all, history&) { all[9].outcome = "lost"; }, "taken");
}

namespace {

using chosen_rounds = std::vector<std::vector<std::size_t>>;

chosen_rounds planned(const std::vector<misfortune>& all, std::optional<std::size_t> rounds, std::size_t played,
                      std::uint64_t seed)
{
    random_source random(seed);
    round_plan plan(all, rounds, random);
    chosen_rounds chosen;
    for (std::size_t i = 0; i < played; ++i)
        chosen.push_back(plan.next());
    return chosen;
}

} // namespace

TEST_CASE("the plan: servers and clients are killed and stopped, whatever the seed")
{
    const std::vector<misfortune> all{client_slow,   client_may_stop, server_killed, client_slow,
                                      client_killed, server_stopped,  client_stopped};
    const std::optional<std::size_t> by_time;
    for (const auto& [rounds, played] :
         {std::pair(std::optional<std::size_t>(2), 2), std::pair(std::optional<std::size_t>(5), 5),
          std::pair(std::optional<std::size_t>(40), 12), std::pair(by_time, 4)})
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            std::set<std::size_t> came;
            for (const auto& round : planned(all, rounds, static_cast<std::size_t>(played), seed)) {
                CHECK((round.size() == 1 || round.size() == 2));
                if (round.size() == 2)
                    CHECK(all[round[0]].whom != all[round[1]].whom);
                came.insert(round.begin(), round.end());
            }
            for (const std::size_t due : {2, 4, 5, 6})
                CHECK(came.contains(due));
        }
}

TEST_CASE("the plan: all kinds of rounds come, as the seed says, and of those that are left if some are")
{
    const std::vector<misfortune> all{server_killed, server_stopped, client_slow, client_may_stop};
    const auto chosen = planned(all, 40, 40, 7);
    CHECK(chosen == planned(all, 40, 40, 7));
    CHECK(chosen != planned(all, 40, 40, 8));
    std::set<std::vector<std::size_t>> kinds(chosen.begin(), chosen.end());
    CHECK(kinds.size() == 8); // of servers, of clients, both
    for (const auto& round : planned({client_slow}, 5, 5, 1))
        CHECK(round == std::vector<std::size_t>{0});
    for (const auto& round : planned({server_killed}, 5, 5, 1))
        CHECK(round == std::vector<std::size_t>{0});
}

TEST_CASE("members with different data are known by their logs")
{
    const auto found_in = [](const std::string& lines) {
        std::istringstream log("INFO FastLeaderElection - Notification\n" + lines +
                               "\nINFO ZooKeeperServer - closed\n");
        return different_data(log);
    };
    const std::string first = "[CommitProcessor:1] WARN DataTree - Message: Digests are not matching. Value is Zxid.";
    const std::string later = "[CommitProcessor:1] WARN DataTree - [531 times] Message: Digests are not matching.";
    CHECK(found_in(first) == first);
    CHECK(found_in(first + '\n' + later) == first);
    // This is of no data; and what follows is written twice to the log of healthy servers.
    CHECK(found_in("WARN DataTree - Message: Digest version not the same on zxid.").empty());
    CHECK(found_in("WARN FileTxnLog - Current zxid 34359738418 is <= 34359738450 for create2").empty());
}

TEST_CASE("what a member has written is found in its transaction logs alone")
{
    const zklock::test::temporary_directory folder;
    const auto write = [&](const char* name, const std::string& bytes) {
        std::ofstream(folder.path() / name, std::ios::binary) << bytes;
    };
    using namespace std::string_literals;
    write("log.100000001", "ZKLG\0\0\0\x0b"
                           "11 7 3 4096\0"s);
    write("snapshot.100000001", "\0\0\0\x0a"
                                "2 7 3 4096"s);
    CHECK(was_written(folder.path(), "11 7 3 4096"));
    CHECK_FALSE(was_written(folder.path(), "1 7 3 4096"));
    CHECK_FALSE(was_written(folder.path(), "2 7 3 4096"));
}

TEST_CASE("a commit that is in a log alone may be lost by the servers")
{
    history h = with_commits();
    h.executed.pop_back();
    CHECK_FALSE(servers_may_have_caused(h, false));
    CHECK(servers_may_have_caused(h, true));
    h.processes[2].commits[7].in_a_log = true;
    CHECK(complains(h, "not executed, though it is in a server's log"));
    CHECK(servers_may_have_caused(h, false));
    h.processes[1].closed.reset(); // which is no commit
    CHECK_FALSE(servers_may_have_caused(h, false));
}

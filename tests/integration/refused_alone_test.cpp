// sanitizers: none
// program: told
// What servers do without their leader, which says nothing of the session: a follower or an observer refuses by itself
// what an access list forbids (enableEagerACLCheck), out of order; it answers reads, and begins sessions
// (localSessionsEnabled).
#include "integration/ensemble_scene.hpp"
#include "support/network.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <sstream>

using namespace zklock::test;
using namespace asio::experimental::awaitable_operators;

namespace {

constexpr milliseconds patient_session{10'000};
const access_rule readers{1, "world", "anyone"};
const std::string refused_path = "/refused_path", open_path = "/open_path";

/// Followers and observers that go on serving for twenty ticks, more than a session, when they hear nothing of their
/// leader.
server_options patient_servers(std::vector<std::string> config)
{
    server_options options;
    options.heap = "128m";
    options.config = std::move(config);
    options.config.emplace_back("syncLimit=24");
    return options;
}

struct servers_apart {
    explicit servers_apart(std::vector<std::string> config, std::size_t observers = 0)
        : servers(
              3 + observers, patient_servers(std::move(config)),
              [this](std::size_t from, std::size_t to, std::uint16_t port) { return net.route(from, to, port); },
              observers)
    {
    }
    void cut_off(std::size_t server)
    {
        for (std::size_t other = 0; other < servers.size(); ++other)
            if (other != server)
                net.cut(server, other);
    }

    network net;
    zookeeper_ensemble servers;
};

struct eager_servers : servers_apart {
    explicit eager_servers(std::size_t observers = 0) : servers_apart({"enableEagerACLCheck=true"}, observers)
    {
        admin_client admin(servers[servers.leader()].port());
        admin.create(refused_path, {}, create_mode::persistent, {readers});
        admin.create(open_path);
    }
};

client_options options_at(zookeeper_server& server, milliseconds session_timeout = patient_session)
{
    auto options = fault_options(server.address(), session_timeout);
    options.lease_margin = usual_tick;
    return options;
}

/// With a list that no server takes.
mutex_options strange_list()
{
    return with(&mutex_options::access, access_list({access_entry("world", "someone")}));
}

/// The answer of a server that may not answer at all.
template <class Value> awaitable<error_code> end_soon(pending<Value> asked)
{
    const auto latest = steady_clock::now() + 500ms;
    co_await until("it has ended, or its time is up",
                   [&asked, latest] { return asked.ended() || steady_clock::now() > latest; });
    if (!asked.ended())
        asked.cancel();
    co_return co_await asked.end();
}

/// What a server answers without its leader.
constexpr std::size_t kinds = 5;
const std::string names[kinds]{"an acquire that may not", "an acquire with an access list that is none",
                               "a write that may not", "a create with an access list that is none", "a read"};

awaitable<bool> answered_alone(client zk, std::size_t kind)
{
    pending<node_stat> set;
    pending<std::string> created;
    pending<node_content> got;
    switch (kind) {
    case 0: co_return co_await end_soon(begin_acquire(mutex(zk, refused_path))) == errc::access_denied;
    case 1: co_return co_await end_soon(begin_acquire(mutex(zk, open_path, strange_list()))) == errc::invalid_option;
    case 2: zk.set(refused_path, "", set.handler()); co_return co_await end_soon(set) == errc::access_denied;
    case 3:
        zk.create("/strange", "", node_kind::persistent, *strange_list().access, created.handler());
        co_return co_await end_soon(created) == errc::invalid_option;
    default: zk.get(refused_path, got.handler()); co_return !co_await end_soon(got);
    }
}

/// A lock is held by a client of a server that is cut off and goes on answering, and waited for by one of the leader's.
struct cut_off_holder {
    cut_off_holder(asio::any_io_executor executor, servers_apart& own_servers, std::size_t server_of_holder)
        : all(own_servers), server(server_of_holder), mode(server_mode(all.servers[server].port())),
          holder(executor, options_at(all.servers[server])),
          next(executor, options_at(all.servers[all.servers.leader()]))
    {
    }

    awaitable<void> play()
    {
        const mutex lock(holder, "/held/" + mode);
        guard held = must(co_await lock.acquire());
        auto lost = begin_wait_lost(held);
        auto waiting = begin_acquire(mutex(next, lock.path()));
        co_await look_at_paths();
        const auto beats = holder.metrics().heartbeats.count();
        const auto last = held.held_until();
        co_await until("a heartbeat renews the lease",
                       [&] { return holder.metrics().heartbeats.count() > beats && held.held_until() > last; });
        all.cut_off(server);
        const auto held_until = held.held_until();
        std::size_t answers[kinds]{};
        const auto begun = steady_clock::now();
        // The next heartbeat is not answered, and refusals that come before its answer end the connection.
        for (std::size_t turn = 0; steady_clock::now() < begun + 2s; ++turn) {
            answers[turn % kinds] += co_await answered_alone(holder, turn % kinds);
            INFO(names[turn % kinds], " at the ", mode);
            CHECK(held.held_until() == held_until);
            const auto next_one = begun + turn * 80ms;
            co_await until("a while has passed", [next_one] { return steady_clock::now() > next_one; });
        }
        for (std::size_t kind = 0; kind < kinds; ++kind) {
            INFO(names[kind], " at the ", mode);
            CHECK(answers[kind] >= 2);
        }
        REQUIRE(!co_await waiting.end());
        CHECK(lost.ended());
        if (!lost.ended())
            REQUIRE(!co_await lost.end());
        MESSAGE("at the ", mode, ": told ",
                std::chrono::duration_cast<milliseconds>(waiting.ended_at() - lost.ended_at()).count(),
                " ms before the next was granted");
        CHECK(lost.ended_at() < waiting.ended_at());
        co_await release_well(waiting);
    }

    /// An acquire on a path that is new to its client looks at it as well. A refusal may come before that answer, and
    /// so end the connection.
    awaitable<void> look_at_paths()
    {
        co_await take_turn(mutex(holder, open_path));
        CHECK(error_in(co_await mutex(holder, refused_path).acquire()) == errc::access_denied);
    }

    awaitable<void> close()
    {
        for (client* zk : {&holder, &next}) {
            must(co_await zk->close());
        }
    }

    servers_apart& all;
    const std::size_t server;
    const std::string mode;
    client holder, next;
};

} // namespace

TEST_CASE("a cut-off follower or observer answers all the same: a holder there is told before the next is granted")
{
    eager_servers all(1);
    const auto story = [&](const any_io_executor& executor) -> awaitable<void> {
        cut_off_holder of_follower(executor, all, all.servers.follower());
        cut_off_holder of_observer(executor, all, all.servers.size() - 1);
        REQUIRE(of_observer.mode == "observer");
        co_await (of_follower.play() && of_observer.play());
        all.net.heal_all();
        co_await of_follower.close();
        co_await of_observer.close();
    };
    run_test(test_limit, story);
}

TEST_CASE("a refusal that comes out of order ends the connection, and the log says why")
{
    eager_servers all;
    bool told = false;
    const auto story = [&]() -> awaitable<void> {
        auto options = options_at(all.servers[all.servers.follower()]);
        options.log = [&told](log_level level, std::string_view line) {
            if (level == log_level::debug)
                return; // the C client's own words
            CHECK(line.find("Resource temporarily unavailable") == line.npos);
            told = told || line.find("enableEagerACLCheck") != line.npos;
        };
        client zk(co_await asio::this_coro::executor, options);
        must(co_await zk.wait_connected(default_limit));
        const auto read = co_await zk.get(refused_path); // the follower has it
        REQUIRE(!read.has_error());
        for (int i = 0; i < 20 && !told; ++i) {
            pending<std::string> created;
            zk.create("/slow" + std::to_string(i), "", created.handler());
            pending<node_stat> denied;
            zk.set(refused_path, "", denied.handler());
            static_cast<void>(co_await created.end());
            CHECK(co_await denied.end());
        }
        CHECK(told);
        must(co_await zk.close());
    };
    run_test(test_limit, story);
}

namespace {

/// Whether all servers know the session, says one of them.
bool known_to_all(zookeeper_server& server, std::int64_t session)
{
    const auto dump = four_letter_word(server.port(), "dump");
    std::ostringstream id;
    id << "0x" << std::hex << session << '\t';
    return dump.substr(dump.find("Global Sessions(")).find(id.str()) != dump.npos;
}

} // namespace

TEST_CASE("sessions that a follower begins alone: a holder is told before the next, and none holds by it")
{
    constexpr milliseconds session{3'000};
    servers_apart all({"localSessionsEnabled=true", "localSessionsUpgradingEnabled=true"});
    const auto story = [&](const any_io_executor& executor) -> awaitable<void> {
        const std::size_t cut_off = all.servers.follower();
        auto& follower = all.servers[cut_off];
        client holder(executor, options_at(follower, session));
        client next(executor, options_at(all.servers[all.servers.leader()], session));
        // The leader hears of the session with its first node, long after the lease began.
        co_await until("the session is older than its time-out",
                       [&] { return holder.metrics().heartbeats.count() > 5; });
        CHECK_FALSE(known_to_all(follower, holder.session_id()));
        auto held = begin_acquire(mutex(holder, "/held"));
        REQUIRE(!co_await held.end());
        CHECK(known_to_all(follower, holder.session_id()));
        all.cut_off(cut_off);
        auto lost = begin_wait_lost(held.value());
        auto waiting = begin_acquire(mutex(next, "/held"));

        client alone(executor, options_at(follower, session));
        must(co_await alone.wait_connected(default_limit));
        CHECK_FALSE(known_to_all(follower, alone.session_id()));
        CHECK(error_in(co_await mutex(alone, "/other").acquire(1s)) == errc::not_connected);

        REQUIRE(!co_await waiting.end());
        CHECK(lost.ended());
        if (!lost.ended())
            REQUIRE(!co_await lost.end());
        MESSAGE("told ", std::chrono::duration_cast<milliseconds>(waiting.ended_at() - lost.ended_at()).count(),
                " ms before the next was granted");
        CHECK(lost.ended_at() < waiting.ended_at());
        co_await release_well(waiting);
        all.net.heal_all();
        co_await take_turn(mutex(alone, "/other"));
        for (client* zk : {&holder, &next, &alone}) {
            must(co_await zk->close());
        }
    };
    run_test(test_limit, story);
}

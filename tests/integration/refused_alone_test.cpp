// sanitizers: none
// program: told
// Servers that check access lists before they ask their leader (enableEagerACLCheck): what a follower refuses by itself
// says nothing of the session, and its refusals come out of order.
#include "integration/ensemble_scene.hpp"
#include "support/network.hpp"

#include <string>
#include <string_view>

using namespace zklock;
using namespace zklock::test;

namespace {

constexpr milliseconds patient_session{10'000};
const access_rule readers{1, "world", "anyone"};
const std::string locked = "/held", refused_path = "/refused_path";

/// Followers that go on serving for twenty ticks, more than a session, when they hear nothing of their leader.
server_options patient_servers()
{
    server_options options;
    options.heap = "128m";
    options.config = {"syncLimit=24", "enableEagerACLCheck=true"};
    return options;
}

struct three_servers {
    three_servers()
        : servers(3, patient_servers(),
                  [this](std::size_t from, std::size_t to, std::uint16_t port) { return net.route(from, to, port); })
    {
        admin_client admin(servers[servers.leader()].port());
        admin.create(refused_path, {}, create_mode::persistent, {readers});
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

client_options options_at(zookeeper_server& server)
{
    auto options = fault_options(server.address(), patient_session);
    options.lease_margin = usual_tick;
    return options;
}

} // namespace

TEST_CASE("a cut-off follower refuses all the same: a holder there is told before the next is granted")
{
    three_servers all;
    const std::size_t follower = all.servers.follower();
    const auto story = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client holder(executor, options_at(all.servers[follower]));
        client next(executor, options_at(all.servers[all.servers.leader()]));
        auto held = begin_acquire(mutex(holder, locked));
        REQUIRE(!co_await held.end());
        auto lost = begin_wait_lost(held.value());
        auto waiting = begin_acquire(mutex(next, locked));
        const auto renewed = [&held, last = held.value().held_until()] { return held.value().held_until() > last; };
        co_await until("a heartbeat renews the lease", renewed);
        all.cut_off(follower);
        const auto held_until = held.value().held_until();
        int refused = 0;
        // The next heartbeat is not answered, and refusals that come before its answer end the connection.
        for (const auto begun = steady_clock::now(); steady_clock::now() < begun + 2s;) {
            auto denied = begin_acquire(mutex(holder, refused_path), 500ms);
            refused += co_await denied.end() == errc::access_denied;
            const auto next_one = steady_clock::now() + 100ms;
            co_await until("a while has passed", [next_one] { return steady_clock::now() > next_one; });
        }
        CHECK(refused >= 10);
        CHECK(held.value().held_until() == held_until);
        REQUIRE(!co_await waiting.end());
        CHECK(lost.ended());
        if (!lost.ended())
            REQUIRE(!co_await lost.end());
        MESSAGE("told ", std::chrono::duration_cast<milliseconds>(waiting.ended_at() - lost.ended_at()).count(),
                " ms before the next was granted");
        CHECK(lost.ended_at() < waiting.ended_at());
        co_await release_well(waiting);
        all.net.heal_all();
        for (client* zk : {&holder, &next}) {
            const result<void> closed = co_await zk->close();
            CHECK(!closed.has_error());
        }
    };
    run_test(test_limit, story);
}

TEST_CASE("a refusal that comes out of order ends the connection, and the log says why")
{
    three_servers all;
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
        const result<void> connected = co_await zk.wait_connected(default_limit);
        REQUIRE(!connected.has_error());
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
        const result<void> closed = co_await zk.close();
        CHECK(!closed.has_error());
    };
    run_test(test_limit, story);
}

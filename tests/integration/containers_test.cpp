// sanitizers: none
// program: requests
// The containers that a client makes for its locks, and deletes when nobody uses them any more. The server's own checks
// are so far apart that they do not help.
#include "integration/semaphore_scene.hpp"

using namespace zklock::test;

namespace {

const server_starts_with no_cleaning([](server_options& options) {
    options.container_check_interval = std::chrono::hours(24);
});

/// Paths rest for half of it, or a little longer.
constexpr milliseconds resting_session{4'000};

/// Of one client, or of two.
play_options resting(std::vector<std::string> clean)
{
    return {.sessions = {resting_session, resting_session}, .clean = std::move(clean)};
}

std::size_t nodes_of_the_server()
{
    return std::stoul(monitor(server().port()).at("zk_znode_count"));
}

awaitable<void> use(client& zk, const std::string& path, mutex_options o = {})
{
    mutex lock(zk, path, std::move(o));
    co_await take_turn(lock, 60s);
}

/// Until what was used before has rested, and its turn has come: containers go in the order in which their paths were
/// used last.
awaitable<void> until_rested(client& zk, admin_client& admin, const std::string& marker)
{
    co_await use(zk, marker);
    co_await until("a container that nobody uses was deleted", [&] { return !admin.exists(marker); });
}

/// Locks one path after the other, of those that nobody has taken yet.
awaitable<void> work_off(client& zk, std::atomic<std::size_t>& next, std::size_t end)
{
    for (std::size_t i = next++; i < end; i = next++)
        co_await use(zk, "/containers/orders/" + std::to_string(i));
}

/// A number from the environment.
std::size_t setting(const char* name, std::size_t otherwise)
{
    const char* const value = std::getenv(name);
    return value ? std::stoul(value) : otherwise;
}

} // namespace

/// ZKLOCK_ORDERS=60000 ZKLOCK_WITHIN_S=30 measures it as a service would use it: so many in that time, evenly. The
/// server's number of nodes is told each second.
TEST_CASE("a lock for each of many orders: soon after, the server has as many nodes as before")
{
    const std::size_t orders = setting("ZKLOCK_ORDERS", scaled(3'000));
    const std::chrono::seconds within(setting("ZKLOCK_WITHIN_S", 0));
    const bool measured = within.count() != 0;
    const auto body = [&]() -> awaitable<void> {
        admin_client admin(server().port());
        admin.create_all("/containers/orders");
        client_options options = fault_options(server().address(), measured ? milliseconds{10'000} : resting_session);
        client zk(co_await asio::this_coro::executor, options);
        must(co_await zk.wait_connected(default_limit));
        const std::size_t before = nodes_of_the_server();
        const auto began = steady_clock::now();
        auto told = began;
        const auto tell = [&] {
            if (!measured || steady_clock::now() < told)
                return;
            told += std::chrono::seconds(1);
            const auto seconds = std::chrono::duration<double>(steady_clock::now() - began).count();
            std::cout << seconds << " s: " << nodes_of_the_server() - before << " more nodes" << std::endl;
        };
        std::atomic<std::size_t> next = 0;
        asio::steady_timer pace(co_await asio::this_coro::executor);
        const std::size_t bursts = measured ? static_cast<std::size_t>(within.count()) * 10 : 1;
        for (std::size_t burst = 1; burst <= bursts; ++burst) {
            std::vector<awaitable<void>> workers;
            for (int i = 0; i < 64; ++i)
                workers.push_back(work_off(zk, next, orders * burst / bursts));
            co_await together(std::move(workers), milliseconds{120'000});
            tell();
            pace.expires_at(began + within * burst / bursts);
            co_await pace.async_wait(asio::use_awaitable);
        }
        if (measured)
            std::cout << "all were locked after " << std::chrono::duration<double>(steady_clock::now() - began).count()
                      << " s" << std::endl;
        auto looked = began;
        const auto as_before = [&] {
            tell();
            if (steady_clock::now() < looked + milliseconds{50})
                return false;
            looked = steady_clock::now();
            return nodes_of_the_server() == before;
        };
        co_await until("the containers are gone", as_before, milliseconds{60'000});
        if (measured)
            std::cout << "as before after " << std::chrono::duration<double>(steady_clock::now() - began).count()
                      << " s" << std::endl;
        CHECK(admin.exists("/containers/orders")); // which is persistent, and not ours
        must(co_await zk.close());
    };
    run_test(milliseconds{300'000}, body);
    expect_clean(server(), {"/containers/orders"});
}

TEST_CASE("what it made above a path goes with the last of it; and all that was deleted is made again")
{
    play<1>(resting({"/deep"}), [&](admin_client& admin, client& zk) -> awaitable<void> {
        std::int64_t last_token = 0;
        for (int i = 0; i < 2; ++i) {
            mutex lock(zk, "/deep/down/lock");
            guard held = must(co_await lock.acquire(60s));
            CHECK(held.fencing_token() > last_token); // although the numbers begin again
            last_token = held.fencing_token();
            co_await release(std::move(held));
            co_await until("the containers are gone", [&] { return !admin.exists("/deep"); });
        }
    });
}

TEST_CASE("a container stays as long as others use it; what others made, and persistent parents, stay")
{
    const std::string used = "/kept/used", others = "/kept/others", lasting = "/kept/lasting";
    play<1>(resting({used, others, lasting}), [&](admin_client& admin, client& zk) -> awaitable<void> {
        admin.create_all("/kept");
        co_await use(zk, used);
        admin.create(used + "/note");
        admin.create(others, {}, create_mode::container);
        co_await use(zk, others);
        const auto persistent = with(&mutex_options::parents, parent_kind::persistent);
        co_await use(zk, lasting, persistent);
        co_await until_rested(zk, admin, "/kept/marker");
        CHECK(admin.children(used).size() == 1);
        CHECK(admin.exists(others));
        CHECK(admin.exists(lasting));
        CHECK(admin.remove(used + "/note"));
    });
}

TEST_CASE("what an operator puts in the place of a container that rests, or writes into it, stays")
{
    const std::string empty = "/swapped/empty", full = "/swapped/full", written = "/swapped/written",
                      deep = "/swapped/up/lock";
    play<1>(resting({empty, full, written, deep}), [&](admin_client& admin, client& zk) -> awaitable<void> {
        admin.create_all("/swapped");
        for (const std::string* path : {&empty, &full, &written})
            co_await use(zk, *path);
        co_await use(zk, deep);
        for (const std::string* path : {&empty, &full}) {
            CHECK(admin.remove(*path));
            admin.create(*path, path == &full ? "mine" : "");
        }
        admin.set(written, "mine");
        CHECK(admin.remove(deep));
        CHECK(admin.remove("/swapped/up"));
        admin.create_all(deep);
        co_await until_rested(zk, admin, "/swapped/marker");
        CHECK(admin.exists(empty));
        CHECK(admin.get(full) == "mine");
        CHECK(admin.get(written) == "mine");
        CHECK(admin.exists(deep));
    });
}

TEST_CASE("a semaphore leaves nothing behind: nor the number of its permits, nor what it made under other names")
{
    play<1>(resting({"/gates"}), [&](admin_client& admin, client& zk) -> awaitable<void> {
        admin.create_all("/gates");
        auto options = with(&semaphore_options::permits, 2, &semaphore_options::check_permits, true);
        for (const naming names : {naming::curator, naming::kazoo, naming::curator}) {
            options.names = names;
            const semaphore gate(zk, "/gates/checked", options);
            permits held = must(co_await semaphore(gate).acquire());
            CHECK(admin.get("/gates/checked") == "2");
            co_await release(std::move(held));
            co_await until("the semaphore's containers are gone", [&] { return admin.children("/gates").empty(); });
        }
        options.check_permits = false;
        for (const naming names : {naming::curator, naming::kazoo}) {
            options.names = names;
            co_await take_turn(semaphore(zk, "/gates/renamed", options));
        }
        co_await until("those of both names are gone", [&] { return admin.children("/gates").empty(); });
    });
}

TEST_CASE("the number of permits stays if an operator has written it; and is written again by those who still check it")
{
    play<2>(resting({"/numbered/gate"}), [&](admin_client& admin, client& zk, client& other) -> awaitable<void> {
        admin.create_all("/numbered");
        auto options = with(&semaphore_options::permits, 2, &semaphore_options::check_permits, true);
        semaphore gate(zk, "/numbered/gate", options), others(other, "/numbered/gate", options);
        co_await take_turn(gate);
        co_await take_turn(others);
        co_await until("the container is gone", [&] { return !admin.exists("/numbered/gate"); });
        for (semaphore* s : {&others, &gate}) {
            co_await release(must(co_await s->acquire()));
            CHECK(admin.get("/numbered/gate") == "2");
        }
        admin.set("/numbered/gate", "2");
        co_await until_rested(zk, admin, "/numbered/marker");
        co_await until_rested(other, admin, "/numbered/marker");
        CHECK(admin.get("/numbered/gate") == "2");
    });
}

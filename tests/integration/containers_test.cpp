// The containers that a client makes for its locks, and deletes when nobody uses them any more. The server's own checks
// are so far apart that they do not help.
#include "integration/lock_scene.hpp"

#include "support/four_letter_words.hpp"

using namespace zklock;
using namespace zklock::test;

namespace {

server_options never_cleans()
{
    server_options options;
    options.container_check_interval = std::chrono::hours(24);
    return options;
}

zookeeper_server& server()
{
    static zookeeper_server one(never_cleans());
    return one;
}

/// Paths rest for half of it, or a little longer.
constexpr milliseconds session{4'000};

std::size_t nodes_of_the_server()
{
    return std::stoul(monitor(server().port()).at("zk_znode_count"));
}

awaitable<void> use(client& zk, const std::string& path, mutex_options o = {})
{
    mutex lock(zk, path, std::move(o));
    guard held = must(co_await lock.acquire(60s));
    co_await release(std::move(held));
}

/// Until what was used before has rested, and its turn has come: containers go in the order in which their paths were
/// used last.
awaitable<void> until_rested(client& zk, admin_client& admin, const std::string& marker)
{
    co_await use(zk, marker);
    const auto gone = [&] { return !admin.exists(marker); };
    co_await until("a container that nobody uses was deleted", gone);
}

} // namespace

TEST_CASE("a lock for each of many orders: soon after, the server has as many nodes as before")
{
    const std::size_t orders = scaled(500);
    const auto body = [&]() -> awaitable<void> {
        admin_client admin(server().port());
        admin.create_all("/containers/orders");
        client zk(co_await asio::this_coro::executor, fault_options(server().address(), session));
        must(co_await zk.wait_connected(default_limit));
        const std::size_t before = nodes_of_the_server();
        for (std::size_t i = 0; i < orders; ++i)
            co_await use(zk, "/containers/orders/" + std::to_string(i));
        const auto as_before = [&] { return nodes_of_the_server() == before; };
        co_await until("the containers are gone", as_before);
        CHECK(admin.exists("/containers/orders")); // which is persistent, and not ours
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {"/containers/orders"});
}

TEST_CASE("what it made above a path goes with the last of it; and all that was deleted is made again")
{
    const auto body = [&]() -> awaitable<void> {
        admin_client admin(server().port());
        client zk(co_await asio::this_coro::executor, fault_options(server().address(), session));
        must(co_await zk.wait_connected(default_limit));
        std::int64_t last_token = 0;
        for (int i = 0; i < 2; ++i) {
            mutex lock(zk, "/deep/down/lock");
            guard held = must(co_await lock.acquire(60s));
            CHECK(held.fencing_token() > last_token); // although the numbers begin again
            last_token = held.fencing_token();
            co_await release(std::move(held));
            const auto gone = [&] { return !admin.exists("/deep"); };
            co_await until("the containers are gone", gone);
        }
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {"/deep"});
}

TEST_CASE("a container stays as long as others use it; what others made, and persistent parents, stay")
{
    const std::string used = "/kept/used", others = "/kept/others", lasting = "/kept/lasting";
    const auto body = [&]() -> awaitable<void> {
        admin_client admin(server().port());
        admin.create_all("/kept");
        client zk(co_await asio::this_coro::executor, fault_options(server().address(), session));
        must(co_await zk.wait_connected(default_limit));
        co_await use(zk, used);
        admin.create(used + "/note");
        admin.create(others, {}, create_mode::container);
        co_await use(zk, others);
        mutex_options persistent;
        persistent.parents = parent_kind::persistent;
        co_await use(zk, lasting, persistent);
        co_await until_rested(zk, admin, "/kept/marker");
        CHECK(admin.children(used).size() == 1);
        CHECK(admin.exists(others));
        CHECK(admin.exists(lasting));
        CHECK(admin.remove(used + "/note"));
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {used, others, lasting});
}

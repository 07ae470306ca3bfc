// sanitizers: none
// program: told
// `/zookeeper` is the servers' own: no lock can be there, of whatever recipe; what is in it may be read.
#include "integration/recipe_scene.hpp"

using namespace zklock::test;

namespace {

client_options options(const std::string& chroot = {})
{
    client_options o = fault_options(server().address(), 60s);
    o.chroot = chroot;
    return o;
}

/// Every recipe, on that path, is refused.
awaitable<void> expect_refused(client zk, std::string path)
{
    CAPTURE(path);
    constexpr errc why = errc::invalid_path;
    mutex plain(zk, path);
    CHECK(error_in(co_await plain.acquire(10s)) == why);
    CHECK(error_in(co_await plain.try_acquire()) == why);
    CHECK(error_in(co_await plain.contenders()) == why);
    CHECK(error_in(co_await reentrant_mutex(zk, path).owned_by(lock_owner()).acquire(10s)) == why);
    shared_mutex both(zk, path);
    CHECK(error_in(co_await both.acquire(10s)) == why);
    CHECK(error_in(co_await both.shared().acquire(10s)) == why);
    CHECK(error_in(co_await semaphore(zk, path, 2).acquire(10s)) == why);
    mutex good(zk, "/reserved/good");
    multi_lock several(good, plain);
    CHECK(error_in(co_await several.acquire(10s)) == why);
    const auto body = [](leadership&) -> awaitable<void> { co_return; };
    CHECK(error_in(co_await election(zk, path).lead(body)) == why);
    const auto counted = with(&semaphore_options::count_path, path);
    CHECK(error_in(co_await semaphore(zk, "/reserved/counted", counted).acquire(10s)) == why);
}

awaitable<void> expect_all_usable(client zk, std::string path)
{
    CAPTURE(path);
    co_await take_turn(mutex(zk, path), 60s);
    co_await take_turn(semaphore(zk, path + "-permits", 2), 60s);
}

} // namespace

TEST_CASE("in the servers' own nodes no lock can be, of whatever recipe; they may be read")
{
    const auto story = [&](admin_client& admin) -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options());
        must(co_await zk.wait_connected(60s));
        const auto before = admin.children("/zookeeper");
        for (const char* path : {"/zookeeper", "/zookeeper/quota", "/zookeeper/locks/a"})
            co_await expect_refused(zk, path);
        CHECK(must(co_await zk.children("/zookeeper")) == before);
        CHECK(must(co_await zk.get("/zookeeper/quota")).data.empty());
        CHECK(admin.children("/zookeeper") == before);
        CHECK(admin.children("/zookeeper/quota").empty());
        for (const char* path : {"/zookeepers", "/zookeeper-locks", "/reserved/zookeeper"})
            co_await expect_all_usable(zk, path);
        must(co_await zk.close());
    };
    play<0>({.clean = {"/reserved/good", "/reserved/zookeeper", "/zookeepers", "/zookeeper-locks"}}, story);
}

TEST_CASE("below a chroot the name is the user's; a chroot cannot be there")
{
    play<0>({.clean = {"/reserved/root/zookeeper/locks"}}, [&](const any_io_executor& executor) -> awaitable<void> {
        admin_client(server().port()).create_all("/reserved/root");
        client zk(executor, options("/reserved/root"));
        client whole(executor, options("/"));
        client inside(executor, options("/zookeeper/quota"));
        for (const char* path : {"/zookeeper", "/zookeeper/locks"})
            co_await expect_all_usable(zk, path);
        co_await expect_refused(whole, "/zookeeper/locks");
        CHECK(error_in(co_await mutex(inside, "/locks").acquire()) == errc::invalid_option);
        CHECK(error_in(co_await inside.get("/")) == errc::invalid_option);
        for (client* each : {&zk, &whole, &inside})
            must(co_await each->close());
    });
}

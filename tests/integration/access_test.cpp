// What ACLs forbid, and nodes that only those with the credentials may touch: each a clear error, and nothing is left.
#include "integration/mutex_scene.hpp"

using namespace zklock;
using namespace zklock::test;

TEST_CASE("parents whose ACL forbids it")
{
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, options());
        must(co_await zk.wait_connected(60s));
        admin_client admin(server().port(), 60s);
        admin.create_all("/access");
        const auto rules = [](std::int32_t permissions) {
            access_rule rule;
            rule.permissions = permissions;
            return std::vector<access_rule>(1, rule);
        };
        constexpr std::int32_t read = 1, create = 4, remove = 8, administer = 16;

        // Nothing may be created: neither a contender nor a parent.
        const std::string sealed = "/access/sealed";
        admin.create(sealed, {}, create_mode::persistent, rules(read | administer));
        mutex lock(zk, sealed);
        CHECK(error_in(co_await lock.acquire()) == errc::access_denied);
        CHECK(error_in(co_await lock.try_acquire()) == errc::access_denied);
        CHECK(must(co_await lock.contenders()).empty());
        mutex below(zk, sealed + "/below/deep");
        CHECK(error_in(co_await below.acquire()) == errc::access_denied);
        co_await nothing_left(server().port());
        admin.set_access(sealed, rules(31));
        co_await expect_usable(zk, sealed);
        co_await expect_usable(zk, sealed + "/below/deep");

        // Created, but the queue may not be read.
        const std::string dark = "/access/dark";
        admin.create(dark, {}, create_mode::persistent, rules(create | remove | administer));
        admin.remove(admin.create(dark + "/used")); // before the very first child there is nothing that one had to read
        mutex unseen(zk, dark);
        CHECK(error_in(co_await unseen.acquire()) == errc::access_denied);
        CHECK(error_in(co_await unseen.try_acquire()) == errc::access_denied);
        CHECK(error_in(co_await unseen.contenders()) == errc::access_denied);
        co_await nothing_left(server().port());
        admin.set_access(dark, rules(31));
        co_await expect_usable(zk, dark);

        // Created, but not to be deleted: the release says so, and goes on trying.
        const std::string sticky = "/access/sticky";
        admin.create(sticky, {}, create_mode::persistent, rules(read | create | administer));
        mutex stuck(zk, sticky);
        guard held = must(co_await stuck.acquire());
        const std::string node = held.node();
        CHECK(error_in(co_await std::move(held).release()) == errc::access_denied);
        CHECK(admin.exists(node));
        admin.set_access(sticky, rules(31));
        co_await nothing_left(server().port());
        co_await expect_usable(zk, sticky);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_clean(server(), {"/access/sealed/below/deep", "/access/dark", "/access/sticky"});
}

TEST_CASE("nodes that only those with the credentials may touch")
{
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        const auto with = [&](const char* secret, acl access) {
            client_options o = options();
            if (*secret != '\0')
                o.auth.push_back({"digest", secret});
            o.access = access;
            return o;
        };
        client ann(executor, with("ann:secret", acl::creator_all));
        client ann_again(executor, with("ann:secret", acl::creator_all));
        client bob(executor, with("bob:secret", acl::creator_all));
        client wrong(executor, with("ann:guessed", acl::creator_all));
        client anybody(executor, with("", acl::open));

        const std::string path = "/access/private/ann";
        admin_client admin(server().port());
        admin.create_all("/access");
        mutex lock(ann, path);
        guard held = must(co_await lock.acquire(60s));
        auto friendly = begin_acquire(mutex(ann_again, path));
        for (client* stranger : {&bob, &wrong, &anybody}) {
            must(co_await stranger->wait_connected(60s));
            co_await expect_refused(mutex(*stranger, path), errc::access_denied);
        }
        CHECK(held);
        CHECK_FALSE(friendly.ended());
        co_await release(std::move(held));
        held = co_await granted(friendly);
        co_await release(std::move(held));
        co_await expect_usable(ann, path);

        // To be read by all.
        const std::string open_path = "/access/readable/ann";
        client ann_in_public(executor, with("ann:secret", acl::creator_all_or_read));
        mutex in_public(ann_in_public, open_path);
        held = must(co_await in_public.acquire(60s));
        mutex looked_at(bob, open_path);
        const auto listed = must(co_await looked_at.contenders());
        REQUIRE(listed.size() == 1);
        CHECK(listed[0].node == held.node());
        CHECK(error_in(co_await looked_at.acquire(10s)) == errc::access_denied);
        CHECK(error_in(co_await looked_at.try_acquire()) == errc::busy); // it sees that without writing
        co_await release(std::move(held));
        CHECK(error_in(co_await looked_at.try_acquire()) == errc::access_denied);

        // Whoever has no credentials can create nothing that needs them.
        client nameless(executor, with("", acl::creator_all));
        mutex impossible(nameless, "/access/nameless");
        CHECK(error_in(co_await impossible.acquire(10s)) == errc::invalid_option);

        co_await nothing_left(server().port());
        for (client* zk : {&ann, &ann_again, &bob, &wrong, &anybody, &ann_in_public, &nameless})
            must(co_await zk->close());
    };
    run_test(test_limit, body);
    expect_clean(server());
}

TEST_CASE("a scheme that the server does not know")
{
    const auto body = [&]() -> awaitable<void> {
        client_options unknown = options();
        unknown.auth.push_back({"no_such_scheme", "secret"});
        client zk(co_await asio::this_coro::executor, unknown);
        mutex lock(zk, "/access/scheme");
        auto early = begin_acquire(lock);
        CHECK(error_in(co_await zk.wait_connected(60s)) == errc::authentication_failed);
        const error_code ec = co_await early.end();
        CHECK(ec == errc::authentication_failed);
        CHECK_FALSE(early.value());
        co_await expect_refused(lock, errc::authentication_failed);
        CHECK(zk.state() == connection_state::failed);
        CHECK(zk.session_id() == 0);
        CHECK(error_in(co_await zk.wait_connected(60s)) == errc::authentication_failed);
        co_await nothing_left(server().port());
        must(co_await zk.close());
        CHECK(error_in(co_await lock.acquire()) == errc::closed);
    };
    run_test(test_limit, body);
    expect_clean(server());
}

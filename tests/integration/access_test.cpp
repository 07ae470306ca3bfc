// sanitizers: none
// program: told
// Who may touch what: ACLs that forbid it, credentials, schemes and chroots.
#include "integration/refusal_scene.hpp"

using namespace zklock::test;

TEST_CASE("parents whose ACL forbids it")
{
    const auto story = [&](admin_client& admin, client& zk) -> awaitable<void> {
        admin.create_all("/bad_input");
        const auto rules = [](std::int32_t permissions) {
            return std::vector<access_rule>(1, with(&access_rule::permissions, permissions));
        };
        constexpr std::int32_t read = 1, create = 4, remove = 8, administer = 16;

        // Nothing may be created: neither a contender nor a parent.
        const std::string sealed = "/bad_input/sealed";
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
        const std::string dark = "/bad_input/dark";
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
        const std::string sticky = "/bad_input/sticky";
        admin.create(sticky, {}, create_mode::persistent, rules(read | create | administer));
        mutex stuck(zk, sticky);
        guard held = must(co_await stuck.acquire());
        const std::string node = held.node();
        CHECK(error_in(co_await std::move(held).release()) == errc::access_denied);
        CHECK(admin.exists(node));
        admin.set_access(sticky, rules(31));
        co_await nothing_left(server().port());
        co_await expect_usable(zk, sticky);
    };
    play<1>({.clean = {"/bad_input/sealed/below/deep", "/bad_input/dark", "/bad_input/sticky"}}, story);
}

namespace {

std::vector<access_rule> all_but_deletes()
{
    const std::int32_t read = 1, create = 4, administer = 16;
    return std::vector<access_rule>(1, with(&access_rule::permissions, read | create | administer));
}

} // namespace

TEST_CASE("a release that is refused: its owner has let go, and all other clients wait until the delete is done")
{
    const std::string path = "/bad_input/refused";
    std::vector<lock_event> told;
    play<2>({.clean = {path}}, [&](admin_client& admin, client& zk, client& stranger) -> awaitable<void> {
        admin.create_all("/bad_input");
        admin.create(path, {}, create_mode::persistent, all_but_deletes());
        const auto executor = co_await asio::this_coro::executor;
        mutex_options listening;
        listening.listener = listen(executor, [&told](const lock_event& e) { told.push_back(e); });
        const auto count = [&](lock_event::kind what) {
            return std::count_if(told.begin(), told.end(), [what](const lock_event& e) { return e.what == what; });
        };
        mutex lock(zk, path, listening), other(stranger, path);
        guard held = must(co_await lock.acquire());
        const std::string node = held.node();
        const std::int64_t token = held.fencing_token();
        CHECK(error_in(co_await std::move(held).release()) == errc::access_denied);
        CHECK_FALSE(held);
        CHECK(held.node() == "");
        CHECK_FALSE(lock.is_held());
        CHECK(admin.exists(node));

        // Its own client goes on without it, and nobody else does.
        CHECK(error_in(co_await other.try_acquire()) == errc::busy);
        held = must(co_await lock.acquire());
        CHECK(admin.exists(node));
        CHECK(held.fencing_token() > token);
        CHECK(error_in(co_await std::move(held).release()) == errc::access_denied);
        CHECK(error_in(co_await other.try_acquire()) == errc::busy);
        auto waiting = co_await queued(admin, path, 3, begin_acquire(other));
        CHECK_FALSE(waiting.ended());
        CHECK(count(lock_event::kind::acquired) == 2);
        CHECK(count(lock_event::kind::released) == 0);

        admin.set_access(path, std::vector<access_rule>(1));
        held = co_await granted(waiting);
        CHECK_FALSE(admin.exists(node));
        co_await until("the releases are told", [&] { return count(lock_event::kind::released) == 2; });
        CHECK(std::none_of(told.begin(), told.end(), [](const lock_event& e) { return e.error.failed(); }));
        co_await release(std::move(held));
    });
}

TEST_CASE("a release that is refused, of a permit and of a reader")
{
    const std::string gates = "/bad_input/gates", book = "/bad_input/book";
    const auto story = [&](admin_client& admin, client& zk, client& stranger) -> awaitable<void> {
        admin.create_all(gates);
        admin.create(gates + "/leases", {}, create_mode::persistent, all_but_deletes());
        semaphore gate(zk, gates, 2), same(stranger, gates, 2);
        permits two = must(co_await gate.permits_of(2).acquire());
        CHECK(error_in(co_await two.release(1)) == errc::access_denied);
        CHECK(two.count() == 1);
        CHECK(two);
        CHECK(gate.permits_held() == 1);
        // It stays in use, for all.
        CHECK(error_in(co_await gate.try_acquire()) == errc::busy);
        CHECK(error_in(co_await same.try_acquire()) == errc::busy);
        CHECK(error_in(co_await std::move(two).release()) == errc::access_denied);
        CHECK(gate.permits_held() == 0);
        CHECK(admin.children(gates + "/leases").size() == 2);
        admin.set_access(gates + "/leases", std::vector<access_rule>(1));
        permits now = must(co_await same.permits_of(2).acquire(60s));
        CHECK(now.count() == 2);
        must(co_await std::move(now).release());

        admin.create(book, {}, create_mode::persistent, all_but_deletes());
        shared_mutex lock(zk, book), other(stranger, book);
        guard reader = must(co_await lock.shared().acquire());
        CHECK(error_in(co_await std::move(reader).release()) == errc::access_denied);
        CHECK_FALSE(lock.shared().is_held());
        CHECK(error_in(co_await other.try_acquire()) == errc::busy);
        guard writer = must(co_await lock.acquire()); // its own client's
        CHECK(error_in(co_await other.shared().try_acquire()) == errc::busy);
        CHECK(error_in(co_await std::move(writer).release()) == errc::access_denied);
        admin.set_access(book, std::vector<access_rule>(1));
        co_await take_turn(other, 60s);
    };
    play<2>({.clean = {gates + "/leases", gates + "/locks", book}}, story);
}

TEST_CASE("nodes that only those with the credentials may touch")
{
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        const auto with = [&](const char* secret, acl access) {
            client_options o = usual_options();
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

        const std::string path = "/bad_input/private/ann";
        admin_client admin(server().port());
        admin.create_all("/bad_input");
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
        co_await take_turn(friendly);
        co_await expect_usable(ann, path);

        // To be read by all.
        const std::string open_path = "/bad_input/readable/ann";
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
        mutex impossible(nameless, "/bad_input/nameless");
        CHECK(error_in(co_await impossible.acquire(10s)) == errc::invalid_option);

        co_await nothing_left(server().port());
        for (client* zk : {&ann, &ann_again, &bob, &wrong, &anybody, &ann_in_public, &nameless})
            must(co_await zk->close());
    });
}

TEST_CASE("a chroot that does not exist, and one that does")
{
    const auto story = [&](admin_client& admin, const any_io_executor& executor) -> awaitable<void> {
        client_options below = usual_options();
        below.chroot = "/bad_input/chroot/app";
        client zk(executor, below);
        mutex lock(zk, "/locks/one");
        CHECK(error_in(co_await zk.wait_connected(60s)) == errc::no_such_chroot);
        CHECK(error_in(co_await zk.wait_connected(0s)) == errc::no_such_chroot);
        CHECK(error_in(co_await lock.acquire()) == errc::no_such_chroot);
        CHECK(error_in(co_await lock.acquire(10s)) == errc::no_such_chroot);
        CHECK(error_in(co_await lock.try_acquire()) == errc::no_such_chroot);
        CHECK_FALSE(admin.exists("/bad_input/chroot/app")); // not ours to make
        co_await nothing_left(server().port());

        admin.create_all("/bad_input/chroot/app");
        must(co_await zk.wait_connected(60s));
        guard held = must(co_await lock.acquire(60s));
        CHECK(held.node().starts_with("/locks/one/_c_"));
        CHECK(admin.exists("/bad_input/chroot/app" + held.node()));
        const auto listed = must(co_await lock.contenders());
        REQUIRE(listed.size() == 1);
        CHECK(listed[0].node == held.node());

        // Seen on connecting, before the answer to whatever is asked then.
        client quick(executor, below);
        co_await until("it is connected", [&] { return quick.state() == connection_state::connected; });
        static_cast<void>(must(co_await quick.get("/")));
        must(co_await quick.wait_connected(0s));
        must(co_await quick.close());

        // The same lock, seen from the root: they exclude each other.
        client whole(executor, usual_options());
        mutex same(whole, "/bad_input/chroot/app/locks/one");
        auto waiting = co_await queued(admin, same.path(), 2, begin_acquire(same));
        CHECK_FALSE(waiting.ended());
        auto third = co_await queued(admin, same.path(), 3, begin_acquire(lock));
        co_await release(std::move(held));
        held = co_await granted(waiting);
        CHECK(held.node().starts_with(same.path() + "/_c_"));
        CHECK_FALSE(third.ended());
        co_await release(std::move(held));
        co_await take_turn(third);
        co_await nothing_left(server().port());

        // The root as a chroot is none.
        client_options root = usual_options();
        root.chroot = "/";
        client at_root(executor, root);
        must(co_await at_root.wait_connected(60s));
        co_await expect_usable(at_root, same.path());
        for (client* each : {&zk, &whole, &at_root})
            must(co_await each->close());
    };
    play<0>({.clean = {"/bad_input/chroot/app/locks/one"}}, story);
}

// sanitizers: none
// Every recipe where it has to live: behind credentials, in a chroot, under parents that are missing, however deep, and
// of either kind. A new recipe joins the table with one line.
#include "integration/semaphore_scene.hpp"
#include "integration/shared_scene.hpp"

using namespace zklock;
using namespace zklock::test;

namespace {

const server_starts_with kept_containers([](server_options& options) {
    options.container_check_interval = std::chrono::hours(1); // so that they can be looked at
});

/// Where a lock is.
struct environment {
    std::string name;
    const char* secret; ///< of the digest scheme; null for none
    access_list access;
    const char* chroot;
    const char* below; ///< the lock's path goes on so
    parent_kind parents;
    const char* second_secret = nullptr; ///< of the second client, if it has another
    bool by_lock = false;                ///< the locks have that list, and their clients have none

    [[nodiscard]] bool everybody_may_read() const
    {
        const auto anyone = [](const access_entry& entry) { return entry.scheme == "world"; };
        return std::ranges::any_of(access.entries(), anyone);
    }
};

const access_list two_users{digest_entry("ann", "secret"), digest_entry("bob", "different")};

const environment environments[] = {
    {"open", nullptr, acl::open, "", "", parent_kind::container},
    {"private", "ann:secret", acl::creator_all, "", "", parent_kind::container},
    {"readable", "ann:secret", acl::creator_all_or_read, "", "", parent_kind::persistent},
    {"chroot", nullptr, acl::open, "/environment_root", "", parent_kind::container},
    {"private_chroot", "ann:secret", acl::creator_all, "/environment_root/inner", "/a/b", parent_kind::persistent},
    {"deep", nullptr, acl::open, "", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p", parent_kind::container},
    {"deep_persistent", nullptr, acl::open, "", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p", parent_kind::persistent},
    {"private_deep", "ann:secret", acl::creator_all, "", "/a/b/c/d/e/f", parent_kind::container},
    {"vault", "ann:secret", acl::creator_all, "/environment_vault", "/a", parent_kind::container}, // not to be read
    {"two_users", "ann:secret", two_users, "", "/a", parent_kind::container, "bob:different"},
    {"two_users_of_a_lock", "ann:secret", two_users, "", "/a/b", parent_kind::persistent, "bob:different", true},
};

/// Has the credentials that the ACLs ask for.
struct owner_of : admin_client {
    explicit owner_of(const environment& where) : admin_client(server().port())
    {
        if (where.secret)
            authenticate("digest", where.secret);
    }
};

/// What one wants from a lock.
struct wishes {
    const environment& where;
    std::string path;
    mutex_options options;

    [[nodiscard]] shared_mutex_options shared() const
    {
        shared_mutex_options o;
        o.parents = options.parents;
        o.access = options.access;
        return o;
    }
    [[nodiscard]] semaphore_options permits() const
    {
        semaphore_options o;
        o.permits = 2;
        o.parents = options.parents;
        o.access = options.access;
        return o;
    }
    [[nodiscard]] election_options terms() const
    {
        election_options o;
        o.parents = options.parents;
        o.access = options.access;
        o.identifier = "the first";
        return o;
    }
};

/// Whether ZooKeeper says that it is not for everybody.
template <class F> [[nodiscard]] bool forbidden(F f)
{
    try {
        f();
        return false;
    } catch (const zookeeper_error& e) {
        return e.code() == -102;
    }
}

/// A node that is held can be touched by those who may, and by nobody else.
void expect_guarded(const wishes& w, const std::string& node)
{
    const std::string full = w.where.chroot + node;
    CAPTURE(full);
    admin_client anybody(server().port());
    CHECK(forbidden([&] { static_cast<void>(anybody.get(full)); }) == !w.where.everybody_may_read());
    if (w.where.secret) {
        CHECK(forbidden([&] { anybody.set(full, "mine"); }));
        CHECK(forbidden([&] { anybody.remove(full); }));
    }
    CHECK_FALSE(owner_of(w.where).get(full).empty());
}

/// Until so many are in the queue, as a client sees it.
template <class Lock> awaitable<void> until_listed(Lock lock, std::size_t count)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto end = steady_clock::now() + default_limit;
    for (;;) {
        const std::vector<contender> queue = must(co_await lock.contenders());
        if (queue.size() == count)
            co_return;
        if (steady_clock::now() > end)
            throw std::runtime_error("so many are never in the queue");
        timer.expires_after(milliseconds{1});
        co_await timer.async_wait(asio::use_awaitable);
    }
}

awaitable<void> use_mutex(client& one, client& two, const wishes& w)
{
    mutex first(one, w.path, w.options);
    mutex second(two, w.path, w.options);
    guard held = must(co_await first.acquire(60s));
    CHECK(held.node().starts_with(w.path + "/"));
    expect_guarded(w, held.node());
    auto waits = begin_acquire(second);
    co_await until_listed(first, 2);
    CHECK(error_in(co_await second.try_acquire()) == errc::busy);
    CHECK(must(co_await second.revoke_holder()) == 1);
    must(co_await held.wait_revoked());
    co_await release(std::move(held));
    guard next = co_await granted(waits);
    co_await release(std::move(next));
}

awaitable<void> use_reentrant_mutex(client& one, client& two, const wishes& w)
{
    reentrant_mutex first(one, w.path, w.options);
    mutex second(two, w.path, w.options);
    const lock_owner me;
    guard outer = must(co_await first.acquire(me, 60s));
    auto waits = begin_acquire(second);
    co_await until_listed(second, 2);
    guard inner = must(co_await first.acquire(me));
    expect_guarded(w, inner.node());
    co_await release(std::move(outer));
    CHECK_FALSE(waits.ended());
    co_await release(std::move(inner));
    guard next = co_await granted(waits);
    co_await release(std::move(next));
}

awaitable<void> use_multi_lock(client& one, client& two, const wishes& w)
{
    multi_lock both(mutex(one, w.path + "/b", w.options), mutex(one, w.path + "/a", w.options));
    mutex second(two, w.path + "/a", w.options);
    multi_guard held = must(co_await both.acquire(60s));
    CHECK(held.locks().size() == 2);
    for (const held_lock& each : held.locks())
        expect_guarded(w, each.node);
    auto waits = begin_acquire(second);
    co_await until_listed(second, 2);
    must(co_await std::move(held).release());
    guard next = co_await granted(waits);
    co_await release(std::move(next));
}

awaitable<void> use_election(client& one, client& two, const wishes& w)
{
    election first(one, w.path, w.terms());
    election second(two, w.path, w.terms());
    int terms = 0;
    const auto reign = [&](leadership& term) -> awaitable<void> {
        ++terms;
        CHECK(term);
        expect_guarded(w, term.node());
        const std::optional<contender> leader = must(co_await second.leader());
        REQUIRE(leader);
        CHECK(leader->identifier == "the first");
        CHECK(leader->node == term.node());
    };
    must(co_await first.lead(60s, reign));
    must(co_await second.lead(60s, reign));
    CHECK(terms == 2);
}

awaitable<void> use_shared_mutex(client& one, client& two, const wishes& w)
{
    shared_mutex first(one, w.path, w.shared());
    shared_mutex second(two, w.path, w.shared());
    guard reads = must(co_await first.acquire_shared(60s));
    guard reads_too = must(co_await second.acquire_shared(60s));
    expect_guarded(w, reads_too.node());
    auto waits = begin_write(first);
    co_await until_listed(second, 3);
    co_await release(std::move(reads));
    CHECK_FALSE(waits.ended());
    co_await release(std::move(reads_too));
    guard writes = co_await granted(waits);
    CHECK(error_in(co_await second.try_acquire_shared()) == errc::busy);
    guard reads_on = must(co_await first.downgrade(std::move(writes)));
    expect_guarded(w, reads_on.node());
    reads_too = must(co_await second.acquire_shared(60s));
    co_await release(std::move(reads_too));
    co_await release(std::move(reads_on));
}

awaitable<void> use_semaphore(client& one, client& two, const wishes& w)
{
    semaphore first(one, w.path, w.permits());
    semaphore second(two, w.path, w.permits());
    permits held = must(co_await first.acquire(2, 60s));
    expect_guarded(w, held.node());
    auto waits = begin(second, 1);
    const std::vector<contender> holders = must(co_await second.holders());
    CHECK(holders.size() >= 2);
    must(co_await held.release(1));
    permits next = co_await granted(waits);
    co_await release(std::move(next));
    co_await release(std::move(held));
    co_await no_permit_left(server().port(), w.where.chroot + w.path);
}

awaitable<error_code> ask_mutex(client& zk, const wishes& w)
{
    mutex lock(zk, w.path, w.options);
    co_return error_in(co_await lock.acquire(60s));
}

awaitable<error_code> ask_reentrant_mutex(client& zk, const wishes& w)
{
    reentrant_mutex lock(zk, w.path, w.options);
    const lock_owner me;
    co_return error_in(co_await lock.acquire(me, 60s));
}

awaitable<error_code> ask_multi_lock(client& zk, const wishes& w)
{
    multi_lock both(mutex(zk, w.path + "/a", w.options), mutex(zk, w.path + "/b", w.options));
    co_return error_in(co_await both.acquire(60s));
}

awaitable<error_code> ask_election(client& zk, const wishes& w)
{
    election chair(zk, w.path, w.terms());
    const auto reign = [](leadership&) -> awaitable<void> {
        FAIL("leads without the credentials");
        co_return;
    };
    co_return error_in(co_await chair.lead(60s, reign));
}

awaitable<error_code> ask_shared_mutex(client& zk, const wishes& w)
{
    shared_mutex lock(zk, w.path, w.shared());
    const error_code of_a_writer = error_in(co_await lock.acquire(60s));
    const error_code of_a_reader = error_in(co_await lock.acquire_shared(60s));
    CHECK(of_a_reader == of_a_writer);
    co_return of_a_writer;
}

awaitable<error_code> ask_semaphore(client& zk, const wishes& w)
{
    semaphore gate(zk, w.path, w.permits());
    co_return error_in(co_await gate.acquire(1, 60s));
}

struct recipe {
    std::string name;
    /// As two clients that may.
    awaitable<void> (*use)(client& one, client& two, const wishes&);
    /// Wants it once, in vain.
    awaitable<error_code> (*ask)(client&, const wishes&);
};

const recipe recipes[] = {
    {"mutex", use_mutex, ask_mutex},
    {"reentrant_mutex", use_reentrant_mutex, ask_reentrant_mutex},
    {"multi_lock", use_multi_lock, ask_multi_lock},
    {"election", use_election, ask_election},
    {"shared_mutex", use_shared_mutex, ask_shared_mutex},
    {"semaphore", use_semaphore, ask_semaphore},
};

client_options options_in(const environment& where, std::string address, const char* secret)
{
    client_options o = fault_options(std::move(address), long_session);
    o.chroot = where.chroot;
    if (!where.by_lock)
        o.access = where.access;
    if (secret)
        o.auth.push_back({"digest", secret});
    return o;
}

/// All nodes below one, and itself.
void list_all(admin_client& admin, const std::string& node, std::vector<std::string>& found)
{
    found.push_back(node);
    for (const std::string& child : admin.children(node))
        list_all(admin, node + "/" + child, found);
}
std::vector<std::string> all_below(const environment& where)
{
    owner_of owner(where);
    std::vector<std::string> found;
    for (const std::string& child : owner.children(*where.chroot ? where.chroot : "/"))
        if (child != "zookeeper")
            list_all(owner, where.chroot + ("/" + child), found);
    return found;
}

/// Nobody gets in with no credentials, or with wrong ones; and nothing comes of it.
awaitable<void> expect_kept_out(const environment& where, const recipe& what, const wishes& w)
{
    const std::vector<std::string> before = all_below(where);
    for (const std::string secret : {"", "ann:guessed", "bob:secret"}) {
        CAPTURE(secret);
        client_options o = options_in(where, server().address(), nullptr);
        if (secret.empty())
            o.access = acl::open;
        else
            o.auth.push_back({"digest", secret});
        client zk(co_await asio::this_coro::executor, o);
        CHECK(co_await what.ask(zk, w) == errc::access_denied);
        must(co_await zk.close());
    }
    CHECK(all_below(where) == before);
}

/// The parents are there, from the top to the bottom. (Their Stat does not tell of what kind they are.)
void expect_parents(const environment& where, const std::string& top, const std::string& path)
{
    owner_of owner(where);
    for (auto end = top.size();; end = std::min(path.find('/', end + 1), path.size())) {
        const std::string node = where.chroot + path.substr(0, end);
        const auto found = owner.exists(node);
        CAPTURE(node);
        REQUIRE(found);
        CHECK(found->ephemeral_owner == 0);
        if (end == path.size())
            break;
    }
}

void make_roots()
{
    admin_client admin(server().port());
    admin.create_all("/environment_root/inner");
    admin.authenticate("digest", "ann:secret");
    const std::vector<access_rule> only_me(1, access_rule{31, "auth", ""});
    admin.create("/environment_vault", {}, create_mode::persistent, only_me);
}

} // namespace

TEST_CASE("every recipe in every environment, and nobody without the credentials")
{
    make_roots();
    for (const environment& where : environments)
        for (const recipe& what : recipes) {
            CAPTURE(where.name);
            CAPTURE(what.name);
            const std::string top = "/" + where.name + "_" + what.name;
            const auto body = [&]() -> awaitable<void> {
                const auto executor = co_await asio::this_coro::executor;
                wishes w{where, top + where.below, {}};
                w.options.parents = where.parents;
                w.options.properties["role"] = "test";
                if (where.by_lock)
                    w.options.access = where.access;
                if (where.name == "vault")
                    co_await expect_kept_out(where, what, w); // before there is anything
                proxy link(server().port());
                const char* const second = where.second_secret ? where.second_secret : where.secret;
                client one(executor, options_in(where, link.address(), where.secret));
                client two(executor, options_in(where, link.address(), second));
                co_await what.use(one, two, w);
                co_await nothing_left(server().port());
                expect_parents(where, top, w.path);
                const bool containers = link.count(opcode::create_container) != 0;
                CHECK(containers == (where.parents == parent_kind::container));
                if (where.secret)
                    co_await expect_kept_out(where, what, w);
                must(co_await one.close());
                must(co_await two.close());
            };
            run_test(test_limit, body);
            expect_clean(server());
        }
}

TEST_CASE("a chroot that does not exist is an error, and nothing is made")
{
    const environment nowhere{"nowhere", nullptr, acl::open, "/no_such_root/at_all", "", parent_kind::container};
    for (const recipe& what : recipes) {
        CAPTURE(what.name);
        const auto body = [&]() -> awaitable<void> {
            client zk(co_await asio::this_coro::executor, options_in(nowhere, server().address(), nullptr));
            const wishes w{nowhere, "/a/b", {}};
            CHECK(co_await what.ask(zk, w) == errc::no_such_chroot);
            must(co_await zk.close());
        };
        run_test(test_limit, body);
    }
    admin_client admin(server().port());
    CHECK_FALSE(admin.exists("/no_such_root"));
    expect_clean(server());
}

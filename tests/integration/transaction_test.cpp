// sanitizers: address
// program: recipes
// Transactions guarded by a lock: what they write, that nothing is written after its loss, and what they cost.
#include "integration/recipe_scene.hpp"

using namespace zklock::test;

namespace {

constexpr auto both = asio::as_tuple(asio::use_awaitable);

struct refused_transaction {
    transaction what;
    errc why;
};

/// Transactions whose second operation cannot be done.
std::vector<refused_transaction> impossible(const protected_register& at, const std::string& ephemeral)
{
    return {{at.write("x").create(at.path, ""), errc::node_exists},
            {at.write("x").remove("/register/none"), errc::no_node},
            {at.write("x").create("/register/none/x", ""), errc::no_node},
            {at.write("x").check(at.path, 77), errc::bad_version},
            {at.write("x").remove("/register"), errc::not_empty},
            {at.write("x").create(ephemeral + "/below", ""), errc::invalid_path}};
}

} // namespace

TEST_CASE("a commit is one request; it tells what was done, or which operation was refused and that nothing was done")
{
    const std::string path = "/commit/once";
    play<1>({.sessions = {120s}, .clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        protected_register stock(admin, "/register/once");
        co_await warm_up(remote, "/commit/elsewhere");
        mutex lock(remote.zk, path);
        guard held = must(co_await lock.acquire());
        remote.link.forget();

        transaction t;
        t.set(stock.path, "41", 0).create(stock.path + "/order-", "ann", node_kind::persistent_sequential);
        t.create(stock.path + "/now", "", node_kind::ephemeral).remove(stock.path + "/now").check(path);
        const commit_result done = must(co_await held.commit(t));
        REQUIRE(done.results.size() == 5);
        CHECK(done.results[0].stat->version == 1);
        CHECK(done.results[1].path == stock.path + "/order-0000000000");
        CHECK_FALSE(done.failed);
        CHECK(stock.value() == "41");
        CHECK(remote.link.count(opcode::multi) == 1);
        CHECK(requests(remote.link) == 1);
        CHECK(remote.link.count_in_multis(opcode::check) == 2);

        // The same again: the version is another.
        const auto [ec, refused] = co_await held.commit(t, both);
        CHECK(ec == errc::bad_version);
        CHECK(refused.failed == 0);
        CHECK(refused.results.empty());
        for (const auto& wrong : impossible(stock, held.node())) {
            const auto [error, result] = co_await held.commit(wrong.what, both);
            CHECK(error == wrong.why);
            CHECK(result.failed == 1);
        }
        CHECK(stock.value() == "41");
        admin.set(held.node(), revoke_request);    // others may
        must(co_await held.commit(transaction())); // only asks
        CHECK(remote.link.count(opcode::multi) == 9);
        CHECK(requests(remote.link) == 9);

        // What cannot be right is not sent.
        remote.link.forget();
        transaction invalid, endless, contained;
        CHECK(error_in(co_await held.commit(invalid.check("no path"))) == errc::invalid_path);
        CHECK(error_in(co_await held.commit(endless.set(stock.path, std::string(1'048'500, 'x')))) ==
              errc::invalid_option);
        CHECK(error_in(co_await held.commit(contained.create("/c", "", node_kind::container))) == errc::invalid_option);
        CHECK(requests(remote.link) == 0);
        CHECK(held);
        co_await release(std::move(held));
    });
}

TEST_CASE("an operator deleted the lock's node, another holds it by now: nothing is written, and the guard is lost")
{
    const std::string path = "/commit/taken";
    play<2>({.clean = {path}}, [&](admin_client& admin, remote_client& old, remote_client& next) -> awaitable<void> {
        protected_register stock(admin, "/register/taken");
        mutex lock(old.zk, path), others(next.zk, path);
        guard held = must(co_await lock.acquire());
        auto lost = begin_wait_lost(held);
        old.link.block(direction::replies); // it does not hear of what follows
        admin.remove(held.node());
        guard now = must(co_await others.acquire());
        CHECK(now.fencing_token() > held.fencing_token());
        must(co_await now.commit(stock.write("theirs")));

        old.link.forget();
        auto late = begin_commit(held, stock.write("stale"));
        co_await until_asked(old.link, opcode::multi);
        CHECK(held); // as far as it can know
        CHECK_FALSE(lost.ended());
        old.link.unblock();
        CHECK(co_await late.end() == errc::lost);
        CHECK_FALSE(held);
        CHECK_FALSE(late.value().failed);
        CHECK_FALSE(co_await lost.end());
        CHECK(stock.value() == "theirs");
        CHECK(error_in(co_await held.commit(stock.write("later"))) == errc::lost);
        CHECK(old.link.count(opcode::multi) == 1); // the second time nothing was asked
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
        co_await release(std::move(now));
    });
}

TEST_CASE("the session was ended between the grant and the commit: nothing is written")
{
    const std::string path = "/commit/expired";
    play<2>({.clean = {path}}, [&](admin_client& admin, remote_client& old, remote_client& next) -> awaitable<void> {
        protected_register stock(admin, "/register/expired");
        mutex lock(old.zk, path), others(next.zk, path);
        guard held = must(co_await lock.acquire());
        auto lost = begin_wait_lost(held);
        old.link.on_next(opcode::multi, moment::request, fate::hold);
        auto late = begin_commit(held, stock.write("stale")); // under way, and kept
        co_await until_struck(old.link);
        old.link.expire_session();
        guard now = must(co_await others.acquire());
        must(co_await now.commit(stock.write("theirs")));
        CHECK(co_await late.end() == errc::outcome_unknown);
        CHECK_FALSE(co_await lost.end());
        CHECK(error_in(co_await held.commit(stock.write("later"))) == errc::lost);
        // Whoever asks then learns that it was not done.
        CHECK(must(co_await old.zk.get(stock.path)).data == "theirs");
        co_await release(std::move(now));
        CHECK(stock.value() == "theirs");
    });
}

TEST_CASE("a holder that was stopped until another had written: its write is refused when it goes on")
{
    const std::string path = "/commit/stopped";
    admin_client admin(server().port());
    protected_register stock(admin, "/register/stopped");
    admin.create_all("/told");
    played_process holder("a process that writes when it is told to",
                          std::vector<std::string>{"ZKLOCK_SERVERS=" + server().address(), "ZKLOCK_PATH=" + path});
    const auto body = [&]() -> awaitable<void> {
        const auto told = [&](const char* what) { return admin.exists(what).has_value(); };
        co_await until(
            "it has written once", [&] { return told("/told/first"); }, test_limit);
        CHECK(stock.value() == "first");
        holder.pause();
        client next(co_await asio::this_coro::executor, fault_options(server().address(), long_session));
        mutex others(next, path);
        guard now = must(co_await others.acquire()); // the other session's end frees it
        must(co_await now.commit(stock.write("theirs")));
        admin.create("/told/go");
        holder.resume();
        co_await until(
            "it has tried again", [&] { return told("/told/second"); }, test_limit);
        CHECK(admin.get("/told/second") == make_error_code(errc::lost).message());
        CHECK(stock.value() == "theirs");
        co_await release(std::move(now));
        must(co_await next.close());
    };
    run_test(test_limit, body);
    holder.kill();
    expect_clean(server(), {path});
}

TEST_CASE("a process that writes when it is told to" * doctest::skip())
{
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor,
                  fault_options(played_process::argument("ZKLOCK_SERVERS"), milliseconds{3'000}));
        mutex lock(zk, played_process::argument("ZKLOCK_PATH"));
        client reporter(co_await asio::this_coro::executor,
                        fault_options(played_process::argument("ZKLOCK_SERVERS"), long_session));
        const guard held = must(co_await lock.acquire());
        transaction first, second;
        must(co_await held.commit(first.set("/register/stopped", "first")));
        must(co_await reporter.create("/told/first", ""));
        asio::steady_timer pause(co_await asio::this_coro::executor);
        while (!must(co_await reporter.exists("/told/go"))) {
            pause.expires_after(milliseconds{5});
            co_await pause.async_wait(asio::use_awaitable);
        }
        const error_code ec = error_in(co_await held.commit(second.set("/register/stopped", "stale")));
        must(co_await reporter.create("/told/second", ec.message()));
        must(co_await held.wait_lost());
        must(co_await reporter.close());
    };
    run_test(test_limit, body);
}

TEST_CASE("a commit whose answer is lost: the outcome is unknown, and it is never repeated")
{
    const std::string path = "/commit/unknown";
    play<1>({.clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        protected_register stock(admin, "/register/unknown");
        mutex lock(remote.zk, path);
        guard held = must(co_await lock.acquire());
        for (const moment at : lost_at) {
            remote.link.on_next(opcode::multi, at, fate::cut);
            remote.link.forget();
            const std::string data = at == moment::reply ? "second" : "first";
            CHECK(error_in(co_await held.commit(stock.write(data))) == errc::outcome_unknown);
            const std::string expected = at == moment::reply ? "second" : "";
            CHECK(must(co_await remote.zk.get(stock.path)).data == expected);
            CHECK(remote.link.count(opcode::multi) == 1);
            CHECK(held);
        }
        must(co_await held.commit(stock.write("third"))); // the lock is still held
        CHECK(stock.value() == "third");

        // Cancelled under way, the same.
        remote.link.on_next(opcode::multi, moment::reply, fate::hold);
        auto cancelled = begin_commit(held, stock.write("fourth"));
        co_await until_struck(remote.link);
        cancelled.cancel();
        CHECK(co_await cancelled.end() == errc::outcome_unknown);
        remote.link.release();
        CHECK(must(co_await remote.zk.get(stock.path)).data == "fourth");
        co_await release(std::move(held));
    });
}

TEST_CASE("a release does not overtake a commit, and after it nothing is sent")
{
    const std::string path = "/commit/released";
    play<1>({.clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        protected_register stock(admin, "/register/released");
        mutex lock(remote.zk, path);
        for (int i = 0; i < 20; ++i) {
            guard held = must(co_await lock.acquire());
            auto next = begin_acquire(lock); // it has the lock at the release, before the servers know
            auto written = begin_commit(held, stock.write("by the first"));
            auto freed = begin_release(held);
            guard second = co_await granted(next);
            auto after = begin_commit(second, stock.write("by the second"));
            CHECK_FALSE(co_await written.end());
            CHECK_FALSE(co_await after.end());
            CHECK_FALSE(co_await freed.end());
            CHECK(stock.value() == "by the second");
            co_await release(std::move(second));
        }
        // Without a lock.
        guard empty;
        CHECK(error_in(co_await empty.commit(stock.write("x"))) == errc::not_owner);
        guard held = must(co_await lock.acquire());
        co_await remote.cut_off();
        remote.link.forget();
        auto unsent = begin_commit(held, stock.write("unsent"));
        auto aborted = begin_commit(held, stock.write("aborted"));
        aborted.cancel();
        CHECK(co_await aborted.end() == asio::error::operation_aborted);
        CHECK_FALSE(unsent.ended());
        auto freed = begin_release(held);
        CHECK(co_await unsent.end() == errc::not_owner);
        remote.link.accept();
        CHECK_FALSE(co_await freed.end());
        CHECK(remote.link.count(opcode::multi) == 0);
        CHECK(stock.value() == "by the second");

        // And sent as soon as there is a connection again, if it is held.
        held = must(co_await lock.acquire());
        co_await remote.cut_off();
        auto waiting = begin_commit(held, stock.write("late"));
        remote.link.accept();
        CHECK_FALSE(co_await waiting.end());
        CHECK(stock.value() == "late");

        // The guard goes away with a commit under way.
        auto last = begin_commit(held, stock.write("last"));
        held = guard();
        CHECK_FALSE(co_await last.end());
        CHECK(stock.value() == "last");
        held = must(co_await lock.acquire());
        must(co_await remote.zk.close());
        CHECK(error_in(co_await held.commit(stock.write("closed"))) == errc::lost);
    });
}

TEST_CASE("a node that is used again outlives its guard, but serves it no more")
{
    const std::string path = "/commit/lingering";
    play<1>({.clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        protected_register stock(admin, "/register/lingering");
        mutex lock(remote.zk, path, with(&mutex_options::linger, milliseconds{60'000}));
        guard first = must(co_await lock.acquire());
        const std::string node = first.node();
        co_await release(std::move(first));
        CHECK(admin.exists(node));
        guard second = must(co_await lock.acquire());
        CHECK(second.node() == node);
        CHECK(error_in(co_await first.commit(stock.write("first"))) == errc::not_owner);
        must(co_await second.commit(stock.write("second")));
        CHECK(stock.value() == "second");
        co_await release(std::move(second));
        must(co_await remote.zk.close()); // its node lingers
    });
}

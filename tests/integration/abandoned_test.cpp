// program: semaphores
// What nobody gives back: guards that are forgotten in every way, and processes that are killed with all they hold.
#include "integration/semaphore_scene.hpp"
#include "integration/shared_scene.hpp"

using namespace zklock::test;

namespace {

constexpr milliseconds short_session{4'000};

/// Every recipe once: waits for it, and gives what holds it and the full paths of its nodes.
struct belongings {
    std::vector<std::string> nodes;
    std::vector<std::shared_ptr<void>> held;

    template <class Guard> void keep(Guard g, const std::string& node)
    {
        nodes.push_back(node);
        held.push_back(std::make_shared<Guard>(std::move(g)));
    }
};

const std::string paths[] = {"/abandoned/mutex",   "/abandoned/reentrant", "/abandoned/multi/1",
                             "/abandoned/multi/2", "/abandoned/shared",    "/abandoned/semaphore"};
// Where it waits: for a mutex, as a reader, and for a permit.
const std::string waits = "/abandoned/waits";
const std::string reader_waits = "/abandoned/reader_waits";
const std::string permit_waits = "/abandoned/permit_waits";

awaitable<void> acquire_all(client& zk, lock_owner me, belongings& own)
{
    mutex plain(zk, paths[0]);
    guard of_mutex = must(co_await plain.acquire());
    const std::string node = of_mutex.node();
    own.keep(std::move(of_mutex), node);
    reentrant_mutex again(zk, paths[1]);
    guard once = must(co_await again.owned_by(me).acquire());
    guard twice = must(co_await again.owned_by(me).acquire());
    const std::string shared_node = once.node();
    own.keep(std::move(once), shared_node);
    own.keep(std::move(twice), shared_node);
    mutex first(zk, paths[2]), second(zk, paths[3]);
    multi_lock both(first, second);
    multi_guard of_both = must(co_await both.acquire());
    const std::string first_node = of_both.locks()[0].node;
    const std::string second_node = of_both.locks()[1].node;
    own.nodes.push_back(first_node);
    own.keep(std::move(of_both), second_node);
    shared_mutex document(zk, paths[4]);
    guard writes = must(co_await document.acquire());
    const std::string writers_node = writes.node();
    own.keep(std::move(writes), writers_node);
    semaphore gate(zk, paths[5], 2);
    permits all = must(co_await gate.permits_of(2).acquire());
    const std::string permits_node = all.node();
    own.keep(std::move(all), permits_node);
}

} // namespace

TEST_CASE("a guard that is dropped, assigned over, moved away or thrown past is released in the background")
{
    const std::string path = "/abandoned/guard";
    play<1>({.clean = {path}}, [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        co_await warm_up(remote, path);
        mutex lock(remote.zk, path);

        // By an exception that nobody catches before the guard has gone.
        auto throws = [&]() -> awaitable<void> {
            guard held = must(co_await lock.acquire());
            throw std::runtime_error("thrown past a guard");
        };
        bool thrown = false;
        asio::co_spawn(executor, throws(), [&](std::exception_ptr e) { thrown = static_cast<bool>(e); });
        co_await until("it was thrown", [&] { return thrown; });
        co_await nothing_left(server().port());

        // In a container, in a closure, moved through several hands; one is left, which is given back.
        std::vector<guard> many;
        many.push_back(must(co_await lock.acquire()));
        auto next = co_await queued(admin, path, 2, begin_acquire(lock));
        const auto bag = std::make_shared<std::vector<guard>>(std::move(many));
        std::function<void()> closure = [bag] {};
        CHECK_FALSE(next.ended());
        bag->clear();
        guard held = co_await granted(next);
        guard other = std::move(held);
        held = std::move(other);
        CHECK(held);
        CHECK_FALSE(other);
        co_await release(std::move(held));
        co_await nothing_left(server().port());

        // While disconnected: it goes when the connection is back, in the same session.
        held = must(co_await lock.acquire());
        const std::string node = held.node();
        const auto session = remote.zk.session_id();
        co_await remote.cut_off();
        held = guard();
        CHECK(admin.exists(node));
        remote.link.accept();
        co_await nothing_left(server().port());
        CHECK(remote.zk.session_id() == session);

        // A grant that comes for a coroutine which is not there any more.
        const std::string before = admin.create(path + "/lock-", {}, create_mode::ephemeral_sequential);
        asio::cancellation_signal cancel;
        bool ended = false;
        auto waits = [&]() -> awaitable<void> { const guard late = must(co_await lock.acquire()); };
        asio::co_spawn(executor, waits(), asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr e) {
                           ended = true;
                           CHECK(e); // cancelled before or after the grant: its next co_await throws, or must() does
                       }));
        co_await until_queued(admin, path, 2);
        cancel.emit(asio::cancellation_type::terminal);
        admin.remove(before);
        co_await until("it has ended", [&] { return ended; });
    });
}

TEST_CASE("a process that holds and waits in every recipe until it is killed" * doctest::skip())
{
    const auto body = [](const any_io_executor& executor) -> awaitable<void> {
        client zk(executor, fault_options(played_process::argument("ZKLOCK_SERVERS"), short_session));
        belongings own;
        const lock_owner me;
        co_await acquire_all(zk, me, own);
        election chair(zk, "/abandoned/election");
        auto leads = [](leadership&) -> awaitable<void> { co_await sleep_for_ever(); };
        auto stands = [&]() -> awaitable<void> {
            const result<void> led = co_await chair.lead(leads);
            must(led);
        };
        asio::co_spawn(executor, stands(), [](std::exception_ptr e) { CHECK_FALSE(e); });
        auto never_reads = begin_read(shared_mutex(zk, reader_waits));
        auto never_enters = begin(semaphore(zk, permit_waits, 1), 1);
        mutex contended(zk, waits);
        const guard never = must(co_await contended.acquire());
    };
    run_test(test_limit, body);
}

TEST_CASE("SIGKILL: all that a process held or waited for is free when its session has ended, in order")
{
    const auto story = [&](admin_client& admin, client& zk, const any_io_executor& executor) -> awaitable<void> {
        mutex contended(zk, waits);
        guard ours = must(co_await contended.acquire());
        shared_mutex read_by_many(zk, reader_waits);
        guard written = must(co_await read_by_many.acquire());
        semaphore narrow(zk, permit_waits, 1);
        permits only = must(co_await narrow.acquire());
        played_process victim("a process that holds and waits in every recipe until it is killed",
                              std::vector<std::string>{"ZKLOCK_SERVERS=" + server().address()});
        co_await until_queued(admin, waits, 2); // the last that it does
        co_await until_queued(admin, "/abandoned/election", 1);
        co_await until_queued(admin, reader_waits, 2);
        co_await until_permits(admin, permit_waits, 2); // ours, and what the head of the line has made already
        const auto waiter = admin.exists(waits + "/" + queue_of(admin, waits)[1]);
        REQUIRE(waiter);
        const std::int64_t its_session = waiter->ephemeral_owner;

        // Behind each of its nodes somebody waits.
        belongings own;
        const lock_owner me;
        bool all_ours = false;
        auto follows = [&]() -> awaitable<void> {
            co_await acquire_all(zk, me, own);
            all_ours = true;
        };
        asio::co_spawn(executor, follows(), [&](std::exception_ptr e) { CHECK_FALSE(e); });
        bool leading = false;
        election chair(zk, "/abandoned/election");
        auto leads = [&](leadership&) -> awaitable<void> {
            leading = true;
            co_return;
        };
        auto stands = [&]() -> awaitable<void> {
            const result<void> led = co_await chair.lead(leads);
            must(led);
        };
        bool led = false;
        asio::co_spawn(executor, stands(), [&](std::exception_ptr e) {
            CHECK_FALSE(e);
            led = true;
        });
        auto third = co_await queued(admin, waits, 3, begin_acquire(contended));
        auto writes = co_await queued(admin, reader_waits, 3, begin_write(read_by_many));
        auto enters = co_await queued(admin, permit_waits + "/locks", 2, begin(narrow, 1));
        auto reads = co_await queued(admin, paths[4], 2, begin_read(shared_mutex(zk, paths[4])));
        auto takes_one = co_await queued(admin, paths[5] + "/leases", 3, begin(semaphore(zk, paths[5], 2), 1));
        co_await until_queued(admin, paths[0], 2);
        co_await until_queued(admin, "/abandoned/election", 2);
        CHECK(victim.running());
        CHECK_FALSE(all_ours);
        CHECK_FALSE(leading);

        CHECK_FALSE(reads.ended());
        CHECK_FALSE(takes_one.ended());

        victim.kill();
        co_await take_turn(reads);
        co_await take_turn(takes_one);
        co_await until("all of its locks are ours", [&] { return all_ours && led; });
        const auto left = ephemerals(server().port());
        CHECK_FALSE(left.contains(its_session));
        CHECK_FALSE(third.ended());
        CHECK_FALSE(writes.ended());
        CHECK_FALSE(enters.ended());
        for (const std::string& node : own.nodes)
            CHECK(admin.exists(node));
        co_await release(std::move(ours));
        co_await take_turn(third);
        co_await release(std::move(written));
        co_await take_turn(writes);
        co_await until_permits(admin, permit_waits, 2); // the next in the line has made its own
        co_await release(std::move(only));
        co_await take_turn(enters);
        own.held.clear();
    };
    play<1>({.clean = {paths[0], paths[1], paths[2], paths[3], paths[4], paths[5] + "/locks", paths[5] + "/leases",
                       "/abandoned/election", waits, reader_waits, permit_waits + "/locks", permit_waits + "/leases"}},
            story);
}

// program: recipes
// The executor of a listener, a lock's or a client's: it is slow, takes nothing, goes away, or gets what the listener
// throws.
#include "integration/kept_log.hpp"
#include "integration/recipe_scene.hpp"
#include "support/failing_executor.hpp"
#include "support/run_until.hpp"
#include "zklock/detail/event_sink.hpp"

#include <boost/asio/strand.hpp>

using namespace zklock::test;

using kind = lock_event::kind;

TEST_CASE("what a listener throws comes out of its executor, and the next event follows")
{
    const std::string path = "/listener/throws";
    asio::io_context elsewhere;
    int calls = 0;
    const auto body = [&]() -> awaitable<void> {
        client_options of_client = fault_options(server().address(), long_session);
        client zk(co_await asio::this_coro::executor, of_client);
        mutex_options options;
        options.listener = listen(elsewhere.get_executor(), [&calls](const lock_event&) {
            ++calls;
            throw std::runtime_error("of the listener");
        });
        mutex lock(zk, path, options);
        co_await take_turn(lock);
        CHECK(calls == 0); // nobody runs its executor
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    for (int i = 1; i <= 3; ++i) {
        CHECK_THROWS_WITH(elsewhere.run(), "of the listener");
        CHECK(calls == i);
    }
    CHECK(elsewhere.run() == 0);
    expect_clean(server(), {path});
}

TEST_CASE("a context that goes away takes its events along; the options may outlive it")
{
    const std::string path = "/listener/context";
    const auto told = std::make_shared<int>(0);
    mutex_options options;
    std::optional<mutex> lock;
    {
        asio::io_context io;
        client zk(io.get_executor(), fault_options(server().address(), long_session));
        options.listener = listen(io.get_executor(), [told](const lock_event&) { ++*told; });
        lock.emplace(zk, path, options);
        bool granted = false;
        lock->acquire([&](error_code ec, guard g) {
            granted = !ec;
            CHECK(static_cast<bool>(g));
            io.stop(); // with events under way
        });
        io.run();
        CHECK(granted);
    }
    CHECK(*told <= 2);
    lock.reset();
    options.listener.reset();
    CHECK(told.use_count() == 1);
    expect_clean(server(), {path});
}

TEST_CASE("the executor of a listener goes with its context, and the listener stays")
{
    const auto fails = std::make_shared<bool>(false);
    int told = 0;
    lock_listener kept, on_strand;
    {
        asio::io_context io;
        kept = listen(failing_executor(io.get_executor(), fails), [&](const lock_event&) { ++told; });
        on_strand = listen(asio::make_strand(io), [&](const lock_event&) { ++told; });
        for (const auto& listener : {kept, on_strand})
            listener->notify(lock_event());
        io.run();
        CHECK(told == 2);
        for (const auto& listener : {kept, on_strand})
            listener->notify(lock_event()); // on its way when the context ends
    }
    CHECK(fails.use_count() == 1);
    for (const auto& listener : {kept, on_strand})
        listener->notify(lock_event());
    CHECK(told == 2);
}

TEST_CASE("an executor takes no event for a while: it throws, and what waits is told when it takes one")
{
    asio::io_context io;
    const auto fails = std::make_shared<bool>(true);
    std::vector<std::uint64_t> told;
    const lock_listener listener =
        listen(failing_executor(io.get_executor(), fails), [&](const lock_event& e) { told.push_back(e.acquire); });
    lock_event event;
    for (event.acquire = 1; event.acquire < 5; event.acquire += 2) {
        *fails = true;
        CHECK_THROWS_AS(listener->notify(event), std::bad_alloc);
        CHECK_THROWS_AS(listener->notify(event), std::bad_alloc);
        *fails = false;
        ++event.acquire;
        listener->notify(event);
        --event.acquire;
        io.restart();
        io.run();
    }
    CHECK(told == std::vector<std::uint64_t>{1, 1, 2, 3, 3, 4});
}

TEST_CASE("an executor takes no event ever: its listener hears nothing, the log once, and all others everything")
{
    const std::string path = "/listener/refuses";
    for (const bool has_log : {true, false}) {
        CAPTURE(has_log);
        proxy between(server().port());
        asio::io_context io;
        client_options of_client = fault_options(between.address(), long_session);
        const kept_log log;
        int told = 0;
        if (has_log)
            of_client.log = log;
        client zk(io, of_client);
        mutex_options refusing;
        refusing.listener = listen(failing_executor(io.get_executor(), std::make_shared<bool>(true)),
                                   [](const lock_event&) { FAIL("it was told"); });
        const auto listening =
            with(&mutex_options::listener, listen(io.get_executor(), [&](const lock_event&) { ++told; }));
        mutex first(zk, path, refusing), second(zk, path + "-too", listening);
        std::vector<guard> held;
        for (mutex* lock : {&first, &second})
            lock->acquire([&](error_code ec, guard g) {
                CHECK_FALSE(ec);
                held.push_back(std::move(g));
            });
        run_until(io, [&] { return held.size() == 2; });
        int lost = 0;
        for (guard& g : held)
            g.wait_lost([&](error_code ec) { lost += !ec; });
        between.expire_session(zk.session_id());
        run_until(io, [&] { return lost == 2 && told == 3; });
        held.clear();
        for (mutex* lock : {&first, &second})
            lock->acquire([&](error_code ec, guard g) {
                CHECK_FALSE(ec);
                held.push_back(std::move(g));
            });
        run_until(io, [&] { return held.size() == 2; });
        bool closed = false;
        held.clear();
        zk.close([&](error_code) { closed = true; });
        run_until(io, [&] { return closed; });
        CHECK(log.count(log_level::warning, "a listener is not told") == (has_log ? 1 : 0));
    }
    expect_clean(server(), {path});
}

TEST_CASE("a slow executor: so many events wait, losses twice as many, and what was dropped is told")
{
    asio::io_context io;
    std::vector<lock_event> told;
    lock_event event;
    const auto tell = [&](lock_listener& to, kind what, int times) {
        for (event.what = what; times != 0; --times) {
            ++event.acquire;
            to->notify(event);
        }
    };
    const auto all = [&] {
        told.clear();
        io.restart();
        io.run();
        std::vector<std::uint64_t> acquires;
        for (const lock_event& e : told)
            acquires.push_back(e.acquire);
        return acquires;
    };
    lock_listener listener = listen(
        io.get_executor(), [&](const lock_event& e) { told.push_back(e); }, 3);
    tell(listener, kind::queued, 5); // 1 to 5
    tell(listener, kind::lost, 4);   // 6 to 9
    tell(listener, kind::failed, 1);
    CHECK(all() == std::vector<std::uint64_t>{1, 2, 3, 6, 7, 8});
    CHECK(told.front().dropped == 4);
    CHECK(std::all_of(told.begin() + 1, told.end(), [](const lock_event& e) { return e.dropped == 0; }));
    tell(listener, kind::acquired, 3);
    CHECK(all() == std::vector<std::uint64_t>{11, 12, 13}); // there is room again
    CHECK(told.front().dropped == 0);

    // What is dropped during the last call but one is told with the last.
    listener = listen(
        io.get_executor(),
        [&](const lock_event& e) {
            told.push_back(e);
            if (e.acquire == 14)
                tell(listener, kind::released, 3); // one waits
        },
        0); // as 1
    tell(listener, kind::queued, 1);
    CHECK(all() == std::vector<std::uint64_t>{14, 15});
    CHECK(told.back().dropped == 2);

    listener = listen(io.get_executor(), [&](const lock_event& e) { told.push_back(e); });
    tell(listener, kind::queued, 70'000);
    CHECK(all().size() == most_waiting_events);
    CHECK(told.front().dropped == 70'000 - most_waiting_events);
}

TEST_CASE("a slow executor of a client's listener: so many states wait, and what was dropped is told")
{
    asio::io_context elsewhere;
    std::vector<connection_event> told;
    const auto keep = [&](const connection_event& e) { told.push_back(e); };
    const auto all = [&] {
        told.clear();
        elsewhere.restart();
        elsewhere.run();
        return told.size();
    };
    connection_listener listener = listen_to_connection(elsewhere.get_executor(), keep, 2);
    const auto body = [&]() -> awaitable<void> {
        proxy link(server().port());
        client_options options = fault_options(link.address(), long_session);
        options.listener = listener;
        client zk(co_await asio::this_coro::executor, options);
        must(co_await zk.wait_connected(60s));
        link.refuse();
        link.cut();
        co_await until("it is noticed", [&zk] { return zk.state() == connection_state::suspended; });
        link.accept();
        must(co_await zk.wait_connected(60s));
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    REQUIRE(all() == 2);
    CHECK(told[0].state == connection_state::connected);
    CHECK(told[0].dropped == 2); // connected again, and closed
    CHECK(told[1].state == connection_state::suspended);
    CHECK(told[1].dropped == 0);

    const auto tell = [&](connection_state state, int times) {
        for (; times != 0; --times)
            listener->notify({state, 7, {}, 0, {}});
    };
    tell(connection_state::failed, 5); // none is dropped last
    REQUIRE(all() == 2);
    CHECK(told[0].dropped == 3);
    CHECK(told[1].dropped == 0);
    tell(connection_state::connected, 1); // there is room again
    REQUIRE(all() == 1);
    CHECK(told[0].dropped == 0);

    listener = listen_to_connection(elsewhere.get_executor(), keep, 0); // as 1
    tell(connection_state::connected, 2);
    REQUIRE(all() == 1);
    CHECK(told[0].dropped == 1);

    listener = listen_to_connection(elsewhere.get_executor(), keep);
    tell(connection_state::connected, 1030);
    CHECK(all() == 1024);
    CHECK(told[0].dropped == 6);
    expect_clean(server());
}

// sanitizers: none
// program: memory
// No memory in the bridge or in the scheduler: what throws has not happened, and the client connects again.
#include "integration/bridge_client.hpp"
#include "integration/scarce_turns.hpp"
#include "runtime/asio_scheduler.hpp"
#include "runtime/strand.hpp"
#include "support/one_server.hpp"
#include "support/proxy.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace zklock;
using namespace zklock::test;

TEST_CASE("no memory for a deadline: either it throws and its function never runs, or it runs; and so do the others")
{
    for (const bool in_a_turn : {true, false})
        for (const bool first : {true, false}) {
            bool failed = true;
            for (int number = 1; failed; ++number) {
                CAPTURE(in_a_turn);
                CAPTURE(first);
                CAPTURE(number);
                asio::io_context io;
                const auto strand = runtime::make_strand(io.get_executor());
                const auto turns = std::make_shared<runtime::turns>();
                runtime::asio_scheduler scheduler(strand, turns);
                bool other_ran = first, ran = false, thrown = false;
                const auto calls = [&] {
                    if (!first)
                        static_cast<void>(
                            scheduler.call_at(scheduler.now() + milliseconds(10), [&] { other_ran = true; }));
                    try {
                        const short_of_memory now(number);
                        static_cast<void>(scheduler.call_at(scheduler.now() + milliseconds(5), [&] { ran = true; }));
                        failed = short_of_memory::has_struck();
                    } catch (const std::bad_alloc&) {
                        thrown = true;
                    }
                };
                asio::post(strand, [&] { in_a_turn ? turns->run(calls) : calls(); });
                CHECK(runs_until(io, [&] { return other_ran && (ran || thrown); }, milliseconds(5000)));
                io.restart();
                io.run_for(milliseconds(15));
                CHECK(ran == !thrown);
            }
        }
}

TEST_CASE("no memory while a deadline is brought forward and the strand is busy: its function runs")
{
    asio::io_context io;
    const auto strand = runtime::make_strand(io.get_executor());
    runtime::asio_scheduler scheduler(strand, std::make_shared<runtime::turns>());
    const asio_fails_too everywhere;
    std::optional<out_of_memory> now;
    bool ran = false;
    static_cast<void>(scheduler.call_at(scheduler.now() + std::chrono::seconds(100), [] { FAIL("it ran"); }));
    asio::post(strand, [&] {
        static_cast<void>(scheduler.call_at(scheduler.now(), [&] { ran = true; }));
        asio::post(strand, [] {}); // the strand is busy with it when both waits end
        now.emplace();
    });
    runs_until(io, [&] { return ran; }, milliseconds(100));
    now.reset();
    CHECK(runs_until(io, [&] { return ran; }, milliseconds(5000)));
}

TEST_CASE("memory fails once while the servers are away: the client connects when they are back")
{
    proxy way(server().port());
    std::string host = "127.0.0.1";
    bool was_connected = false;
    SUBCASE("for the first time") {}
    SUBCASE("for the first time, by name") { host = "localhost"; }
    SUBCASE("again") { was_connected = true; }
    bool failed = true;
    for (int number = 1; failed && number <= 60; ++number) { // that is several cycles of attempts
        CAPTURE(number);
        auto options = options_for(host + ':' + std::to_string(way.port()));
        options.connect_backoff = options.connect_backoff_limit = milliseconds(4);
        const only_in_turns fails;
        bridge_client c(options, false, fails.turns);
        if (was_connected) {
            way.accept();
            c.store().attach(c);
            c.wait_connected();
        }
        way.refuse();
        way.cut();
        if (!was_connected)
            c.store().attach(c);
        else
            c.wait_disconnected();
        {
            const short_of_memory now(number);
            runs_until(c.context(), [] { return short_of_memory::has_struck(); }, milliseconds(100));
            failed = short_of_memory::has_struck();
        }
        way.accept();
        const std::size_t before = was_connected ? 1 : 0;
        CHECK(runs_until(c.context(), [&] { return c.connections > before; }, milliseconds(5000)));
        if (c.connections == before)
            break; // it would take as long each time
        c.close();
    }
}

TEST_CASE("no memory for a while: the client tries again now and then, and connects when there is some")
{
    proxy way(server().port());
    way.refuse();
    auto options = options_for(way.address());
    options.connect_backoff = options.connect_backoff_limit = milliseconds(4);
    const only_in_turns fails;
    bridge_client c(options, true, fails.turns);
    runs_until(c.context(), [] { return false; }, milliseconds(20));
    int thrown = 0;
    const auto end = steady_clock::now() + milliseconds(500);
    while (steady_clock::now() < end) {
        c.context().restart();
        try {
            const out_of_memory now;
            c.context().run_one_for(milliseconds(2));
        } catch (const std::bad_alloc&) {
            ++thrown;
        }
    }
    CHECK(thrown < 50);
    way.accept();
    CHECK(runs_until(c.context(), [&] { return c.connections == 1; }, milliseconds(5000)));
    c.close();
}

TEST_CASE("memory fails anywhere, in Asio too, while connections come and go: the client goes on")
{
    proxy way(server().port());
    auto options = options_for(way.address());
    options.connect_backoff = options.connect_backoff_limit = milliseconds(2);
    bridge_client c(options);
    c.wait_connected();
    const asio_fails_too everywhere;
    int answered = 0, asked = 0;
    const auto ask = [&] {
        try {
            c.store().get("/", false, [&](const store::get_reply&) { ++answered; });
            ++asked;
        } catch (const std::bad_alloc&) { // it was not asked
            return;
        }
    };
    const auto goes_on = [&] {
        const std::size_t before = c.connections;
        way.cut();
        CHECK(runs_until(c.context(), [&] { return c.connections > before; }, default_limit));
        c.exists("/");
        CHECK(answered == asked);
    };
    SUBCASE("once")
    {
        bool failed = true;
        for (int number = 1; failed && number <= 250; ++number) { // that is many of each kind
            CAPTURE(number);
            {
                const short_of_memory now(number);
                ask();
                for (int pass = 0; pass < 40 && !short_of_memory::has_struck(); ++pass) {
                    if (pass % 8 == 7) {
                        const long left = std::exchange(allocations_left, -1); // the proxy has memory
                        way.cut();
                        allocations_left = left;
                    }
                    runs_until(c.context(), [] { return short_of_memory::has_struck(); }, milliseconds(2));
                }
                failed = short_of_memory::has_struck();
            }
            goes_on();
        }
    }
    SUBCASE("again and again")
    {
        for (const int one_of : {1, 2, 3, 4, 5, 7, 10, 16, 25, 40}) {
            CAPTURE(one_of);
            for (int pass = 0; pass < 30; ++pass) {
                if (pass % 10 == 9)
                    way.cut();
                const scarce_memory now(one_of);
                ask();
                runs_until(c.context(), [] { return false; }, milliseconds(3));
            }
            goes_on();
        }
    }
    c.close();
}

TEST_CASE("memory fails anywhere, in Asio too, while the client closes: it is told of it")
{
    const asio_fails_too everywhere;
    for (const int one_of : {0, 1, 2, 3, 5}) { // 0: once
        bool failed = true;
        for (int number = 1; failed; ++number) {
            CAPTURE(one_of);
            CAPTURE(number);
            bridge_client c(options_for(server().address()));
            c.wait_connected();
            bool closed = false;
            {
                const short_of_memory once(one_of == 0 ? number : -1);
                const scarce_memory now(one_of);
                c.store().close([&] { closed = true; });
                for (int pass = 0; pass < 1000 && !closed; ++pass)
                    runs_until(c.context(), [&] { return closed; }, milliseconds(2));
                failed = one_of == 0 && short_of_memory::has_struck();
            }
            CHECK(runs_until(c.context(), [&] { return closed; }, default_limit));
        }
    }
}

TEST_CASE("a scheduler goes without memory, and drops what it was to do")
{
    asio::io_context io;
    const auto kept = std::make_shared<int>();
    {
        std::optional<runtime::asio_scheduler> scheduler(std::in_place, runtime::make_strand(io.get_executor()));
        scheduler->post([kept] { FAIL("it ran"); });
        static_cast<void>(scheduler->call_at(scheduler->now(), [kept] { FAIL("it ran"); }));
        const asio_fails_too everywhere;
        const out_of_memory now;
        scheduler.reset();
    }
    CHECK(kept.use_count() == 1);
    io.run();
}

namespace {

/// Posts to the strand of `on` while memory fails at each place, and looks for what goes on. `on` runs nothing from
/// each call of `stops` until the next of `runs`, which returns when all has run.
template <class Context>
void posts_without_memory(Context& on, const std::function<void()>& stops, const std::function<void()>& runs)
{
    const auto strand = runtime::make_strand(on.get_executor());
    const asio_fails_too everywhere;
    const auto owner = std::make_shared<int>();
    const std::array<char, 2000> large{"it ran"}; // more than Asio keeps room for
    int woken = 0, posted = 0, taken = 0;
    runtime::wake_up wake([&] { ++woken; });
    const auto tries = [&](int number) {
        const short_of_memory now(number);
        try {
            asio::post(strand, [&posted, large] { posted += large[0] != 0; });
            ++taken;
        } catch (const std::bad_alloc&) { // it was not posted
            return;
        }
    };
    for (int number = 1; number <= 4; ++number)
        for (const bool from_inside : {false, true}) {
            const int before = woken;
            stops();
            if (from_inside)
                asio::post(strand, [&, number] { tries(number); });
            else
                tries(number);
            {
                const out_of_memory now;
                wake.post(strand, owner);
                wake.post(strand, owner);
            }
            runs();
            CHECK(woken == before + 1);
            CHECK(posted == taken);
        }
    CHECK(taken < 8);
    CHECK(owner.use_count() == 1);
}

} // namespace

TEST_CASE("what is posted to a strand and fails was not posted, and wake-ups need none")
{
    SUBCASE("on an io_context")
    {
        asio::io_context io;
        const auto runs = [&] {
            io.restart();
            io.run();
        };
        posts_without_memory(io, [] {}, runs);
    }
    SUBCASE("on a pool of threads")
    {
        asio::thread_pool pool(1);
        std::promise<void> gate;
        const auto stops = [&] {
            gate = {};
            asio::post(pool, [opens = gate.get_future().share()] { opens.wait(); });
        };
        const auto runs = [&] {
            gate.set_value();
            std::promise<void> done;
            asio::post(pool, [&] { asio::post(pool, [&] { asio::post(pool, [&] { done.set_value(); }); }); });
            done.get_future().wait();
        };
        posts_without_memory(pool, stops, runs);
    }
}

TEST_CASE("a strand on an io_context goes on without any memory: waits end in it, and wake it again")
{
    asio::io_context io;
    const auto strand = runtime::make_strand(io.get_executor());
    const asio_fails_too everywhere;
    const auto owner = std::make_shared<int>();
    int woken = 0, waited = 0, at_once = 0;
    runtime::wake_up first([&] { ++woken; }), second([&] {
        ++woken;
        if (woken < 20)
            first.post(strand, owner);
    });
    runtime::memory_of_wait of_wait;
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, runtime::strand>
        timer(strand, milliseconds(0));
    std::function<void()> wait = [&] {
        timer.expires_after(milliseconds(0));
        timer.async_wait(asio::bind_allocator(of_wait.get(), [&](const error_code&) {
            first.post(strand, owner);
            second.post(strand, owner);
            asio::dispatch(strand, [&] { ++at_once; });
            if (++waited < 10)
                wait();
        }));
    };
    wait();
    io.poll_one(); // so that the timers have room
    {
        const out_of_memory now;
        io.run();
    }
    CHECK(waited == 10);
    CHECK(at_once == 10);
    CHECK(woken >= 20);
    CHECK(owner.use_count() == 1);
}

TEST_CASE("requests that fail for want of memory keep no room for their answers")
{
    bridge_client c(options_for(server().address()));
    c.wait_connected();
    const std::string path = "/" + std::string(60, 'x');
    const std::vector<store::batch_write> writes{creates(path, node_kind::persistent)};
    largest_allocation = 0;
    for (int repetition = 0; repetition < 500; ++repetition)
        for (const int number : {1, 2, 3, 4, 5, 6}) {
            const auto fails = [&](auto request) {
                try {
                    const short_of_memory now(number);
                    request();
                } catch (const std::bad_alloc&) {
                    return;
                }
            };
            fails([&] { c.store().get(path, true, [](const store::get_reply&) {}); });
            fails([&] { c.store().unwatch(path, [](const store::reply&) {}); });
            fails([&] { c.store().batch(writes, [](const store::batch_reply&) {}); });
            c.exists("/");
        }
    CHECK(largest_allocation < 64 * 1024);
    c.close();
}

// No memory in the bridge or in the scheduler: what throws has not happened, and the client connects again.
#include "integration/bridge_client.hpp"
#include "runtime/asio_scheduler.hpp"
#include "runtime/turns.hpp"
#include "support/failing_memory.hpp"
#include "support/proxy.hpp"
#include "support/zookeeper_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::test;

namespace {

/// For so long at most, until that holds; exceptions for want of memory come and go.
template <class Holds> bool runs_until(asio::io_context& io, Holds holds, milliseconds limit)
{
    for (const auto end = steady_clock::now() + limit; !holds() && steady_clock::now() < end;) {
        io.restart();
        try {
            io.run_one_for(milliseconds(2));
        } catch (const std::bad_alloc&) {
            continue;
        }
    }
    return holds();
}

const runtime::turns* watched_turns = nullptr;

/// Memory fails only in turns: the handlers that Asio drops for want of memory, before they begin, are its own matter.
struct only_in_turns {
    std::shared_ptr<runtime::turns> turns = std::make_shared<runtime::turns>();
    only_in_turns()
    {
        watched_turns = turns.get();
        may_fail = [] { return watched_turns->open(); };
    }
    ~only_in_turns() { may_fail = nullptr; }
    only_in_turns(const only_in_turns&) = delete;
    only_in_turns& operator=(const only_in_turns&) = delete;
};

} // namespace

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
                const asio::strand<asio::any_io_executor> strand{asio::any_io_executor{io.get_executor()}};
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

TEST_CASE("memory fails once while the servers are away: the client connects when they are back")
{
    zookeeper_server server;
    proxy way(server.port());
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
    zookeeper_server server;
    proxy way(server.port());
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

TEST_CASE("requests that fail for want of memory keep no room for their answers")
{
    zookeeper_server server;
    bridge_client c(options_for(server.address()));
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

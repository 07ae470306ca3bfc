// program: adapter
// Cancellation: every type, at every point of an acquire; no node and no watch is left behind.
#include "integration/adapter_scene.hpp"
#include "support/admin_client.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"
#include "support/proxy.hpp"
#include "support/run_test.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

using namespace zklock;
using namespace zklock::test;
using asio::cancellation_type;

namespace {

const std::vector<cancellation_type> every_type{cancellation_type::terminal, cancellation_type::partial,
                                                cancellation_type::total, cancellation_type::all};

/// An operation that a test has started and may cancel: what became of it.
struct attempt {
    asio::cancellation_signal cancel;
    std::optional<error_code> ended;
    guard held;
    int calls = 0;

    auto handler()
    {
        return asio::bind_cancellation_slot(cancel.slot(), [this](error_code ec, guard g) {
            ++calls;
            ended = ec;
            held = std::move(g);
        });
    }
};

struct fixture {
    proxy between{server().port()};
    asio::io_context io;
    client c{io, options_for(between.address())};
    mutex lock{c, "/cancel"};

    fixture()
    {
        bool connected = false;
        c.wait_connected(60s, [&](error_code ec) { connected = !ec; });
        run_until([&] { return connected; });
    }
    ~fixture()
    {
        bool closed = false;
        c.close([&](error_code) { closed = true; });
        run_until([&] { return closed; });
    }

    template <class Condition> void run_until(Condition holds)
    {
        const auto deadline = steady_clock::now() + 60s;
        while (!holds() && steady_clock::now() < deadline) {
            io.restart();
            io.run_one_for(10ms);
        }
        REQUIRE(holds());
    }
    guard hold()
    {
        attempt a;
        lock.acquire(a.handler());
        run_until([&] { return a.ended.has_value(); });
        REQUIRE_FALSE(*a.ended);
        return std::move(a.held);
    }
    /// Nothing is left, and the lock can be had.
    void expect_free()
    {
        auto again = hold();
        CHECK(again);
        bool released = false;
        std::move(again).release([&](error_code ec) { released = !ec; });
        run_until([&] { return released; });
        std::atomic<bool> looked = false;
        std::thread look([&] {
            expect_no_contender(server(), {"/cancel"});
            looked = true;
        });
        run_until([&] { return looked.load(); });
        look.join();
    }
};

} // namespace

TEST_CASE_FIXTURE(fixture, "an acquire is cancelled before it has begun")
{
    { // the path is made, so that what follows counts only contenders
        auto held = hold();
    }
    expect_free();
    for (const auto type : every_type) {
        between.forget();
        attempt a;
        lock.acquire(a.handler());
        a.cancel.emit(type);
        CHECK_FALSE(a.ended); // not inside emit()
        run_until([&] { return a.ended.has_value(); });
        CHECK(*a.ended == asio::error::operation_aborted);
        CHECK_FALSE(a.held);
        expect_free();
        CHECK(between.count(opcode::create2) + between.count_in_multis(opcode::create) <= 1); // expect_free()'s own
    }
}

TEST_CASE_FIXTURE(fixture, "while the create is under way: the node goes when its answer has come")
{
    {
        auto held = hold();
    }
    expect_free();
    for (const auto type : every_type) {
        between.block(direction::replies);
        between.forget();
        attempt a;
        lock.acquire(a.handler());
        run_until([&] { return between.count(opcode::any) >= 1; });
        a.cancel.emit(type);
        run_until([&] { return a.ended.has_value(); });
        CHECK(*a.ended == asio::error::operation_aborted);
        between.unblock();
        expect_free();
        CHECK(a.calls == 1);
    }
}

TEST_CASE_FIXTURE(fixture, "while it waits for another: first, middle and last, one after the other or at once")
{
    for (const auto type : every_type) {
        auto holder = hold();
        attempt waiting[5];
        for (auto& a : waiting)
            lock.acquire(a.handler());
        std::optional<std::size_t> queued;
        auto look = [&] {
            queued.reset();
            lock.contenders([&](error_code, std::vector<contender> q) { queued = q.size(); });
            run_until([&] { return queued.has_value(); });
        };
        for (look(); *queued != 6;)
            look();
        waiting[2].cancel.emit(type);
        waiting[2].cancel.emit(type); // twice is once
        waiting[4].cancel.emit(type);
        run_until([&] { return waiting[2].ended && waiting[4].ended; });
        CHECK(*waiting[2].ended == asio::error::operation_aborted);
        CHECK(*waiting[4].ended == asio::error::operation_aborted);
        CHECK_FALSE(waiting[1].ended);

        holder = guard();
        for (const int i : {0, 1, 3}) { // in their order
            run_until([&] { return waiting[i].ended.has_value(); });
            CHECK_FALSE(*waiting[i].ended);
            for (int later = i + 1; later < 4; ++later)
                CHECK((later == 2 || !waiting[later].ended));
            waiting[i].held = guard();
        }
        for (const auto& a : waiting)
            CHECK(a.calls == 1);
        expect_free();
    }
}

TEST_CASE_FIXTURE(fixture, "after the grant: the result stands, and only once")
{
    for (const auto type : every_type) {
        attempt a;
        lock.acquire(a.handler());
        run_until([&] { return a.ended.has_value(); });
        CHECK_FALSE(*a.ended);
        a.cancel.emit(type);
        io.restart();
        io.run_for(20ms);
        CHECK(a.calls == 1);
        CHECK(a.held);
        a.held = guard();
        expect_free();
    }
    // The cancellation meets the grant somewhere on its way: whatever wins, there is one end, and no lock is left.
    int granted = 0;
    int aborted = 0;
    for (int steps = 0; steps < 200 && (steps < 20 || granted == 0); ++steps) {
        attempt a;
        lock.acquire(a.handler());
        for (int i = 0; i < steps && !a.ended; ++i) {
            io.restart();
            io.run_one_for(20ms);
        }
        a.cancel.emit(cancellation_type::total);
        run_until([&] { return a.ended.has_value(); });
        if (!*a.ended)
            ++granted;
        else
            ++aborted;
        CHECK((*a.ended == asio::error::operation_aborted) == !a.held);
        CHECK(a.calls == 1);
    }
    CHECK(granted > 0);
    CHECK(aborted > 0);
    expect_free();
}

TEST_CASE_FIXTURE(fixture, "the other operations: cancelling stops the waiting, not what was asked for")
{
    for (const auto type : every_type) {
        std::optional<error_code> lost, lost_too, released, connected, listed;
        asio::cancellation_signal cancel;
        auto held = hold();
        held.wait_lost(asio::bind_cancellation_slot(cancel.slot(), [&](error_code ec) { lost = ec; }));
        held.wait_lost([&](error_code ec) { lost_too = ec; });
        cancel.emit(type);
        run_until([&] { return lost.has_value(); });
        CHECK(*lost == asio::error::operation_aborted);
        CHECK_FALSE(lost_too);
        CHECK(held);

        between.block(direction::requests);
        std::move(held).release(asio::bind_cancellation_slot(cancel.slot(), [&](error_code ec) { released = ec; }));
        run_until([&] { return lost_too.has_value(); });
        CHECK(*lost_too == asio::error::operation_aborted);
        CHECK_FALSE(released);
        cancel.emit(type);
        run_until([&] { return released.has_value(); });
        CHECK(*released == asio::error::operation_aborted);

        lock.contenders(asio::bind_cancellation_slot(
            cancel.slot(), [&](error_code ec, const std::vector<contender>&) { listed = ec; }));
        io.restart();
        io.poll();
        cancel.emit(type);
        run_until([&] { return listed.has_value(); });
        CHECK(*listed == asio::error::operation_aborted);
        between.unblock();

        client nowhere(io, options_for("127.0.0.1:1"));
        nowhere.wait_connected(1h, asio::bind_cancellation_slot(cancel.slot(), [&](error_code ec) { connected = ec; }));
        io.restart();
        io.poll();
        cancel.emit(type);
        run_until([&] { return connected.has_value(); });
        CHECK(*connected == asio::error::operation_aborted);
        expect_free();
    }
    // A release that is cancelled before it began still happens.
    auto held = hold();
    asio::cancellation_signal cancel;
    std::optional<error_code> released;
    std::move(held).release(asio::bind_cancellation_slot(cancel.slot(), [&](error_code ec) { released = ec; }));
    cancel.emit(cancellation_type::terminal);
    run_until([&] { return released.has_value(); });
    CHECK(*released == asio::error::operation_aborted);
    expect_free();
}

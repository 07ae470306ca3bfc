// sanitizers: none
// program: memory
// Memory that fails once, at whichever allocation: the operation that meets it ends, and the client goes on.
#include "integration/memory_once_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/failing_executor.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace zklock;
using namespace zklock::test;

TEST_CASE("memory fails once, wherever it is asked for while servers answer: each operation ends, the client goes on")
{
    asio::io_context io;
    client c(io, hasty_options_for(server().address()));
    const std::string path = "/memory-of-answers-and-of-names"; // too long to be kept without memory
    mutex lock(c, path);
    guard held = take(io, lock);
    bool failed = true;
    for (int number = 1; failed; ++number) {
        CAPTURE(number);
        asio::cancellation_signal cancels[5];
        const ending all[5];
        const auto on = [&](int i) { return asio::bind_cancellation_slot(cancels[i].slot(), all[i].handler()); };
        c.get(path, on(0));
        c.children(path, on(1));
        lock.contenders(on(2));
        lock.acquire(on(3)); // its guard is destroyed in the handler
        transaction made;
        made.set(path, "for the next one to read");
        c.commit(made, on(4));
        const auto over = [&] { return std::ranges::all_of(all, &ending::is_over); };
        failed = destroy_short_of_memory(held, io, number, over);
        // What it met as it was about to begin waits for its cancellation.
        for (const auto deadline = steady_clock::now() + 100ms; !over() && steady_clock::now() < deadline;) {
            io.restart();
            try {
                io.run_one_for(1ms);
            } catch (const std::bad_alloc&) {
                continue;
            }
        }
        for (auto& cancel : cancels) {
            cancel_short_of_memory(cancel, 1);
            cancel.emit(asio::cancellation_type::terminal);
        }
        run_past_failures(io, over);
        for (const ending& e : all)
            CHECK(*e.calls <= 1);
        held = take(io, lock);
    }
    held = guard();
    close(io, c);
    expect_clean(server(), {path});
}

TEST_CASE("memory fails once, and then the client goes: all that the library has taken is given back")
{
    const std::string path = "/memory-that-is-to-be-given-back"; // too long to be kept without memory
    const auto growth = [&](int number, bool& failed) {
        const long before = live_allocations;
        {
            asio::io_context io;
            client c(io, hasty_options_for(server().address()));
            mutex lock(c, path);
            guard held = take(io, lock);
            asio::cancellation_signal cancel;
            const told next;
            const auto hand_over = [&] {
                lock.acquire(asio::bind_cancellation_slot(cancel.slot(), next.handler()));
                held = guard();
            };
            failed = begin_short_of_memory(io, number, next, cancel, hand_over).failed;
            held = guard();
            close(io, c);
        }
        return live_allocations - before;
    };
    bool failed = true;
    for (int number = 1; failed; ++number) {
        CAPTURE(number);
        if (growth(number, failed) == 0)
            continue;
        bool failed_again = false; // the first time, something may have been made that stays for good
        CHECK(growth(number, failed_again) == 0);
    }
    expect_clean(server(), {path});
}

TEST_CASE("memory fails once while a client closes: it closes all the same, and the context runs out of work")
{
    for (const bool dropped : {false, true}) {
        bool failed = true;
        for (int number = 1; failed; ++number) {
            CAPTURE(dropped);
            CAPTURE(number);
            asio::io_context io;
            std::optional<client> c(std::in_place, io, options_for("127.0.0.1:1"));
            io.poll();
            const ending waiting, closed, again;
            c->wait_connected(1h, waiting.handler());
            io.restart();
            io.poll();
            if (dropped)
                c.reset();
            else
                c->close(closed.handler());
            {
                const short_of_memory now(number);
                io.restart();
                try {
                    while (allocations_left > 0 && !(dropped ? waiting : closed).is_over() && !io.stopped())
                        io.run_one_for(100ms);
                } catch (const std::bad_alloc&) { // looked at below
                }
                failed = allocations_left < 0;
            }
            if (c) {
                c->close(again.handler());
                run_past_failures(io, [&] { return again.is_over(); });
                CHECK(*again.calls == 1);
            }
            run_past_failures(io, [&] { return io.stopped(); });
            CHECK(waiting.is_over());
            CHECK(closed.is_over());
            CHECK(*closed.calls <= 1);
        }
    }
}

TEST_CASE("no memory for a while, for Asio neither, while a client closes: it closes when there is some")
{
    for (const bool connected : {true, false})
        for (const int one_of : {1, 2, 3, 5}) {
            CAPTURE(connected);
            CAPTURE(one_of);
            asio::io_context io;
            client c(io, options_for(connected ? server().address() : "127.0.0.1:1"));
            mutex lock(c, "/memory");
            guard held;
            if (connected)
                held = take(io, lock);
            const ending waiting, closed;
            lock.acquire(waiting.handler());
            io.restart();
            io.poll();
            c.close(closed.handler());
            {
                const asio_fails_too everywhere;
                const scarce_memory now(one_of);
                for (int pass = 0; pass < 100; ++pass)
                    try {
                        io.restart();
                        io.run_one_for(2ms);
                    } catch (const std::bad_alloc&) {
                        continue;
                    }
            }
            run_past_failures(io, [&] { return closed.is_over() && waiting.is_over(); });
            CHECK(*closed.calls <= 1);
            CHECK(c.state() == connection_state::closed);
            held = guard();
            run_past_failures(io, [&] { return io.stopped(); });
        }
    expect_clean(server());
}

TEST_CASE("memory fails once when something is asked for all who wait: whoever waits later has it asked for again")
{
    asio::io_context io;
    SUBCASE("whether the chroot is there")
    {
        client_options options = hasty_options_for(server().address());
        options.chroot = "/not/there";
        client c(io, options);
        const auto answer = [&] {
            std::optional<error_code> told;
            c.wait_connected(1h, [&](error_code ec) { told = ec; });
            run_past_failures(io, [&] { return told.has_value(); });
            return *told;
        };
        REQUIRE(answer() == errc::no_such_chroot);
        bool failed = true;
        for (int number = 1; failed; ++number) {
            CAPTURE(number);
            asio::cancellation_signal cancel;
            const ending first;
            c.wait_connected(1h, asio::bind_cancellation_slot(cancel.slot(), first.handler()));
            failed = run_one_short_of_memory(io, number);
            CHECK(answer() == errc::no_such_chroot);
            cancel.emit(asio::cancellation_type::terminal);
            run_past_failures(io, [&] { return first.is_over(); });
        }
        close(io, c);
    }
    SUBCASE("whether a holder is to let go")
    {
        client c(io, hasty_options_for(server().address()));
        mutex lock(c, "/memory");
        bool failed = true;
        for (int number = 1; failed; ++number) {
            CAPTURE(number);
            guard held = take(io, lock);
            asio::cancellation_signal cancel;
            const ending first, set;
            held.wait_revoked(asio::bind_cancellation_slot(cancel.slot(), first.handler()));
            failed = run_one_short_of_memory(io, number);
            error_code second = asio::error::would_block;
            held.wait_revoked([&](error_code ec) { second = ec; });
            std::optional<error_code> asked; // once the client is connected again
            while (!asked || *asked == errc::not_connected || *asked == errc::outcome_unknown) {
                asked.reset();
                c.set(held.node(), "__REVOKE__", [&](error_code ec, const auto&...) { asked = ec; });
                run_past_failures(io, [&] { return asked.has_value(); });
            }
            CHECK(!*asked);
            run_past_failures(io, [&] { return second != asio::error::would_block; });
            CHECK(!second);
            cancel.emit(asio::cancellation_type::terminal);
            run_past_failures(io, [&] { return first.is_over(); });
        }
        close(io, c);
    }
    expect_clean(server());
}

TEST_CASE("permits that are taken out meet an exception: they are given back")
{
    asio::io_context io;
    client c(io, hasty_options_for(server().address()));
    semaphore gate(c, "/memory-of-permits", 2);
    permits held;
    const auto take = [&] {
        gate.acquire(2, [&](error_code ec, permits p) {
            CHECK_FALSE(ec);
            held = std::move(p);
        });
        run_past_failures(io, [&] { return static_cast<bool>(held); });
    };
    for (const bool split : {true, false}) {
        CAPTURE(split);
        const auto take_out = [&](std::size_t count, const ending& e) {
            if (split)
                held.split(count, e.handler()); // they are destroyed in the handler
            else
                held.release(count, e.handler());
        };
        bool failed = true;
        for (int number = 1; failed; ++number) {
            CAPTURE(number);
            take();
            const ending out;
            take_out(1, out);
            failed = run_one_short_of_memory(io, number);
            run_past_failures(io, [&] { return out.is_over(); });
            CHECK(*out.calls <= 1);
            held = permits();
        }
        take();
        const auto fails = std::make_shared<bool>(false);
        const ending first, second, out;
        held.wait_lost(asio::bind_executor(failing_executor(io.get_executor(), fails), first.handler()));
        held.wait_lost(second.handler());
        io.restart();
        io.poll();
        *fails = true;
        take_out(2, out);
        CHECK(run_past_failures(io, [&] { return first.is_over() && second.is_over() && out.is_over(); }) == 1);
        CHECK(*first.calls == 0);
        CHECK(*second.calls == 1);
        CHECK(*out.calls == 1);
        CHECK(!held);
        take();
        held = permits();
    }
    close(io, c);
    expect_clean(server(), {"/memory-of-permits/locks", "/memory-of-permits/leases"});
}

TEST_CASE("memory fails once in a release that is awaited: it reports, nothing stays, and others go on")
{
    two_clients both;
    mutex lock(both.c, "/memory"), others_lock(both.other, "/memory"), held_on(both.c, "/memory-held-on");
    guard kept = take(both.io, held_on);
    bool failed = true;
    for (int number = 1; failed; ++number) {
        CAPTURE(number);
        guard held = take(both.io, lock);
        const told released, lost, next, theirs;
        held.wait_lost(lost.handler());
        lock.acquire(next.handler()); // its guard is destroyed in the handler
        both.until_queued(others_lock, 2);
        others_lock.acquire(theirs.handler());
        both.until_queued(others_lock, 3);

        asio::cancellation_signal cancel;
        const begun met = begin_short_of_memory(both.io, number, released, cancel, [&] {
            std::move(held).release(asio::bind_cancellation_slot(cancel.slot(), released.handler()));
        });
        failed = met.failed;
        const int thrown =
            met.thrown + both.until([&] { return lost.is_over() && next.is_over() && theirs.is_over(); });
        CAPTURE(thrown);
        CHECK(released.dropped() + lost.dropped() + next.dropped() <= (thrown != 0 ? 1 : 0));
        CHECK((released.dropped() || released.cancelled() || released.well()));
        CHECK((lost.dropped() || lost.cancelled())); // silent: it is no loss
        CHECK((next.dropped() || next.well() || next.without_memory()));
        CHECK(theirs.well());
        CHECK(kept);
        if (!failed) {
            CHECK(thrown == 0);
            CHECK(released.well());
            CHECK(next.well());
        }
    }
    kept = guard();
    both.close_both();
    expect_clean(server(), {"/memory", "/memory-held-on"});
}

TEST_CASE("memory fails once while permits are acquired: the acquire reports, nothing stays, and others go on")
{
    two_clients both;
    const std::string path = "/memory-of-permits";
    semaphore gate(both.c, path, 2), others_gate(both.other, path, 2);
    mutex held_on(both.c, "/memory-held-on");
    guard kept = take(both.io, held_on);
    bool failed = true;
    for (int number = 1; failed; ++number) {
        CAPTURE(number);
        permits held;
        gate.acquire(1, [&](error_code, permits p) { held = std::move(p); });
        both.until([&] { return static_cast<bool>(held); });
        const told before, acquired, theirs; // permits are destroyed in the handler
        gate.acquire(2, before.handler());
        both.until_queued(others_gate, 1);

        asio::cancellation_signal cancel;
        const begun met = begin_short_of_memory(both.io, number, acquired, cancel, [&] {
            gate.acquire(1, asio::bind_cancellation_slot(cancel.slot(), acquired.handler()));
            held = permits();
        });
        failed = met.failed;
        held = permits();
        others_gate.acquire(2, theirs.handler());
        const int thrown = met.thrown + both.until([&] { return before.is_over() && theirs.is_over(); });
        CAPTURE(thrown);
        CHECK(acquired.dropped() + before.dropped() <= (thrown != 0 ? 1 : 0));
        CHECK((acquired.dropped() || acquired.well() || acquired.without_memory() || acquired.cancelled()));
        CHECK((before.dropped() || before.well() || before.without_memory()));
        CHECK(theirs.well());
        CHECK(kept);
        if (!failed) {
            CHECK(thrown == 0);
            CHECK(acquired.well());
            CHECK(before.well());
        }
    }
    kept = guard();
    both.close_both();
    expect_clean(server(), {path + "/locks", path + "/leases", "/memory-held-on"});
}

// No memory, or an executor that throws: what the exception meets may be lost, and nothing else.
#include "support/expect_clean.hpp"
#include "support/failing_executor.hpp"
#include "support/failing_memory.hpp"
#include "support/run_test.hpp"
#include "support/zookeeper_server.hpp"
#include "zklock/zklock.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace zklock;
using namespace zklock::test;

namespace {

/// Counts, in a place of the test's, and shows whether it is still kept.
struct ending {
    std::shared_ptr<int> calls = std::make_shared<int>(0);

    [[nodiscard]] auto handler() const
    {
        return [calls = calls](const auto&...) { ++*calls; };
    }
    [[nodiscard]] bool is_over() const { return calls.use_count() == 1; }
};

/// Until all of that is over; says how many exceptions came out of the context.
int run_until(asio::io_context& io, const std::function<bool()>& holds)
{
    int thrown = 0;
    for (const auto deadline = steady_clock::now() + 60s; !holds() && steady_clock::now() < deadline;) {
        io.restart();
        try {
            io.run_one_for(10ms);
        } catch (const std::bad_alloc&) {
            ++thrown;
        }
    }
    REQUIRE(holds());
    return thrown;
}

client_options options_for(const std::string& servers)
{
    client_options options;
    options.servers = servers;
    return options;
}

using starter = std::function<void(client&, const failing_executor&, asio::cancellation_slot, const ending&)>;

const std::vector<std::pair<const char*, starter>>& operations()
{
    static const auto bound = [](const failing_executor& on, asio::cancellation_slot slot, const ending& e) {
        return asio::bind_cancellation_slot(slot, asio::bind_executor(on, e.handler()));
    };
    static const std::vector<std::pair<const char*, starter>> all{
        {"wait_connected", [](client& c, const auto& on, auto slot, const ending& e) {
             c.wait_connected(1h, bound(on, slot, e));
         }},
        {"get", [](client& c, const auto& on, auto slot, const ending& e) { c.get("/", bound(on, slot, e)); }},
        {"acquire", [](client& c, const auto& on, auto slot, const ending& e) {
             mutex(c, "/memory").acquire(bound(on, slot, e));
         }},
        {"contenders", [](client& c, const auto& on, auto slot, const ending& e) {
             mutex(c, "/memory").contenders(bound(on, slot, e));
         }},
        {"wait_for_leadership", [](client& c, const auto& on, auto slot, const ending& e) {
             election(c, "/memory").wait_for_leadership(bound(on, slot, e));
         }},
    };
    return all;
}

} // namespace

TEST_CASE("one handler cannot be posted: it is lost, the others are told, and the client closes")
{
    for (std::size_t failing = 0; failing < operations().size(); ++failing)
        for (const bool cancelled : {true, false}) {
            CAPTURE(operations()[failing].first);
            CAPTURE(cancelled);
            asio::io_context io;
            client c(io, options_for("127.0.0.1:1"));
            std::vector<ending> endings(operations().size());
            std::vector<asio::cancellation_signal> signals(operations().size());
            std::vector<std::shared_ptr<bool>> fails;
            for (std::size_t i = 0; i < operations().size(); ++i) {
                fails.push_back(std::make_shared<bool>(false));
                operations()[i].second(c, {io.get_executor(), fails[i]}, signals[i].slot(), endings[i]);
            }
            io.poll(); // all have begun
            *fails[failing] = true;
            int thrown = 0;
            if (cancelled) {
                signals[failing].emit(asio::cancellation_type::terminal);
                thrown += run_until(io, [&] { return endings[failing].is_over(); });
                CHECK(thrown == 1);
            }
            const ending closed, again;
            c.close(closed.handler());
            c.close(again.handler());
            const auto all_over = [&] {
                return closed.is_over() && again.is_over() && std::ranges::all_of(endings, &ending::is_over);
            };
            thrown += run_until(io, all_over);
            CHECK(thrown == 1);
            for (std::size_t i = 0; i < operations().size(); ++i) {
                CAPTURE(operations()[i].first);
                CHECK(endings[i].is_over());
                CHECK(*endings[i].calls == (i == failing ? 0 : 1));
            }
            CHECK(*closed.calls == 1);
            CHECK(*again.calls == 1);
            CHECK(c.state() == connection_state::closed);
        }
}

TEST_CASE("the handler of a close cannot be posted: other closes are told")
{
    asio::io_context io;
    client c(io, options_for("127.0.0.1:1"));
    const auto fails = std::make_shared<bool>(false);
    const ending closed, again;
    c.close(asio::bind_executor(failing_executor(io.get_executor(), fails), closed.handler()));
    c.close(again.handler());
    *fails = true;
    CHECK(run_until(io, [&] { return closed.is_over() && again.is_over(); }) == 1);
    CHECK(*closed.calls == 0);
    CHECK(*again.calls == 1);
}

TEST_CASE("no memory to begin with: an operation can be cancelled, and ends with the client")
{
    zookeeper_server server;
    asio::io_context io;
    client c(io, options_for(server.address()));
    mutex lock(c, "/memory");
    guard held;
    lock.acquire([&](error_code ec, guard g) {
        CHECK_FALSE(ec);
        held = std::move(g);
    });
    run_until(io, [&] { return static_cast<bool>(held); });
    transaction look;
    look.check(held.node());

    using begins = std::function<void(asio::cancellation_slot, const ending&)>;
    const auto on = [](asio::cancellation_slot slot, const ending& e) {
        return asio::bind_cancellation_slot(slot, e.handler());
    };
    const std::vector<std::pair<const char*, begins>> all{
        {"acquire", [&](auto slot, const ending& e) { lock.acquire(on(slot, e)); }},
        {"get", [&](auto slot, const ending& e) { c.get("/", on(slot, e)); }},
        {"contenders", [&](auto slot, const ending& e) { lock.contenders(on(slot, e)); }},
        {"wait_lost", [&](auto slot, const ending& e) { held.wait_lost(on(slot, e)); }},
        {"wait_revoked", [&](auto slot, const ending& e) { held.wait_revoked(on(slot, e)); }},
        {"commit", [&](auto slot, const ending& e) { held.commit(look, on(slot, e)); }},
    };
    std::vector<ending> kept; // until the close
    for (const auto& [name, begin] : all)
        for (const bool cancelled : {true, false}) {
            for (int number = 1;; ++number) {
                CAPTURE(name);
                CAPTURE(number);
                io.restart();
                io.poll();
                asio::cancellation_signal cancel;
                const ending e;
                begin(cancel.slot(), e);
                bool failed = false;
                try {
                    const short_of_memory now(number);
                    io.restart();
                    io.run_one_for(60s);
                } catch (const std::bad_alloc&) {
                    failed = true;
                }
                if (cancelled || !failed) {
                    cancel.emit(asio::cancellation_type::terminal);
                    run_until(io, [&] { return e.is_over(); });
                    CHECK(*e.calls <= 1);
                } else {
                    kept.push_back(e);
                }
                if (!failed)
                    break;
            }
        }
    CHECK(kept.size() > all.size());
    const ending closed;
    c.close(closed.handler());
    run_until(io, [&] { return closed.is_over(); });
    for (const ending& e : kept) {
        CHECK(e.is_over());
        CHECK(*e.calls <= 1);
    }
    CHECK(*closed.calls == 1);
    held = guard();
    run_until(io, [&] { return io.stopped(); });
    expect_clean(server);
}

TEST_CASE("guards and clients are destroyed without memory: what was held is given back, and the session ends")
{
    constexpr std::size_t locks = 40; // more than there is room for among what waits for the client's strand
    zookeeper_server server;
    asio::io_context io;
    std::optional<client> c(std::in_place, io, options_for(server.address()));
    client other(io, options_for(server.address()));
    const auto path = [](std::size_t i) { return "/memory-" + std::to_string(i); };
    std::vector<guard> held(locks);
    for (std::size_t i = 0; i < locks; ++i) {
        mutex(*c, path(i)).acquire([&held, i](error_code, guard g) { held[i] = std::move(g); });
        run_until(io, [&] { return static_cast<bool>(held[i]); });
    }
    {
        const out_of_memory now;
        for (guard& g : held)
            g = guard();
    }
    for (std::size_t i = 0; i < locks; ++i)
        mutex(other, path(i)).acquire([&held, i](error_code, guard g) { held[i] = std::move(g); });
    run_until(io, [&] { return std::ranges::all_of(held, [](const guard& g) { return static_cast<bool>(g); }); });
    held.clear();
    const ending closed;
    other.close(closed.handler());
    {
        const out_of_memory now;
        c.reset();
    }
    run_until(io, [&] { return io.stopped(); });
    CHECK(*closed.calls == 1);
    expect_clean(server);
}

TEST_CASE("memory fails once, wherever it is asked for while servers answer: each operation ends, and the client goes on")
{
    zookeeper_server server;
    asio::io_context io;
    client_options options = options_for(server.address());
    options.connect_backoff = 1ms;
    client c(io, options);
    const std::string path = "/memory-of-answers-and-of-names"; // too long to be kept without memory
    mutex lock(c, path);
    guard held;
    const auto take = [&] {
        lock.acquire([&](error_code ec, guard g) {
            CHECK_FALSE(ec);
            held = std::move(g);
        });
        run_until(io, [&] { return static_cast<bool>(held); });
    };
    take();
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
        {
            const short_of_memory now(number);
            held = guard();
            for (int turn = 0; allocations_left > 0 && !over() && turn < 500; ++turn) {
                io.restart();
                try {
                    io.run_one_for(100ms);
                } catch (const std::bad_alloc&) {
                    break;
                }
            }
            failed = allocations_left < 0;
        }
        // What it met as it was about to begin waits for its cancellation.
        for (const auto deadline = steady_clock::now() + 100ms; !over() && steady_clock::now() < deadline;) {
            io.restart();
            try {
                io.run_one_for(1ms);
            } catch (const std::bad_alloc&) {
                continue;
            }
        }
        for (auto& cancel : cancels)
            cancel.emit(asio::cancellation_type::terminal);
        run_until(io, over);
        for (const ending& e : all)
            CHECK(*e.calls <= 1);
        take();
    }
    held = guard();
    const ending closed;
    c.close(closed.handler());
    run_until(io, [&] { return closed.is_over(); });
    CHECK(*closed.calls == 1);
    expect_clean(server, {path});
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
                run_until(io, [&] { return again.is_over(); });
                CHECK(*again.calls == 1);
            }
            run_until(io, [&] { return io.stopped(); });
            CHECK(waiting.is_over());
            CHECK(closed.is_over());
            CHECK(*closed.calls <= 1);
        }
    }
}

TEST_CASE("of those who wait for the same, one has an executor that throws: the others are told, and a release ends")
{
    zookeeper_server server;
    asio::io_context io;
    client c(io, options_for(server.address()));
    const auto fails = std::make_shared<bool>(false);
    const failing_executor failing(io.get_executor(), fails);
    {
        const ending first, second;
        c.wait_connected(1h, asio::bind_executor(failing, first.handler()));
        c.wait_connected(1h, second.handler());
        *fails = true;
        CHECK(run_until(io, [&] { return first.is_over() && second.is_over(); }) == 1);
        CHECK(*first.calls == 0);
        CHECK(*second.calls == 1);
        *fails = false;
    }
    mutex lock(c, "/memory");
    guard held;
    const auto take = [&] {
        lock.acquire([&](error_code, guard g) { held = std::move(g); });
        run_until(io, [&] { return static_cast<bool>(held); });
    };
    for (const bool cancelled : {false, true}) {
        CAPTURE(cancelled);
        take();
        const ending first, second, released;
        held.wait_lost(asio::bind_executor(failing, first.handler()));
        held.wait_lost(second.handler());
        io.restart();
        io.poll();
        *fails = true;
        asio::cancellation_signal cancel;
        std::move(held).release(asio::bind_cancellation_slot(cancel.slot(), released.handler()));
        if (cancelled)
            cancel.emit(asio::cancellation_type::terminal);
        CHECK(run_until(io, [&] { return first.is_over() && second.is_over() && released.is_over(); }) == 1);
        CHECK(*first.calls == 0);
        CHECK(*second.calls == 1);
        CHECK(*released.calls == 1);
        *fails = false;
    }
    take();
    held = guard();
    const ending closed;
    c.close(closed.handler());
    run_until(io, [&] { return closed.is_over(); });
    expect_clean(server, {"/memory"});
}

TEST_CASE("memory fails once when something is asked for all who wait: whoever waits later has it asked for again")
{
    zookeeper_server server;
    asio::io_context io;
    SUBCASE("whether the chroot is there")
    {
        client_options options = options_for(server.address());
        options.chroot = "/not/there";
        options.connect_backoff = 1ms;
        client c(io, options);
        const auto answer = [&] {
            std::optional<error_code> told;
            c.wait_connected(1h, [&](error_code ec) { told = ec; });
            run_until(io, [&] { return told.has_value(); });
            return *told;
        };
        REQUIRE(answer() == errc::no_such_chroot);
        bool failed = true;
        for (int number = 1; failed; ++number) {
            CAPTURE(number);
            asio::cancellation_signal cancel;
            const ending first;
            c.wait_connected(1h, asio::bind_cancellation_slot(cancel.slot(), first.handler()));
            try {
                const short_of_memory now(number);
                io.restart();
                io.run_one_for(60s);
                failed = allocations_left < 0;
            } catch (const std::bad_alloc&) {
                failed = true;
            }
            CHECK(answer() == errc::no_such_chroot);
            cancel.emit(asio::cancellation_type::terminal);
            run_until(io, [&] { return first.is_over(); });
        }
        const ending closed;
        c.close(closed.handler());
        run_until(io, [&] { return closed.is_over(); });
    }
    SUBCASE("whether a holder is to let go")
    {
        client_options options = options_for(server.address());
        options.connect_backoff = 1ms;
        client c(io, options);
        mutex lock(c, "/memory");
        bool failed = true;
        for (int number = 1; failed; ++number) {
            CAPTURE(number);
            guard held;
            lock.acquire([&](error_code, guard g) { held = std::move(g); });
            run_until(io, [&] { return static_cast<bool>(held); });
            asio::cancellation_signal cancel;
            const ending first, set;
            held.wait_revoked(asio::bind_cancellation_slot(cancel.slot(), first.handler()));
            try {
                const short_of_memory now(number);
                io.restart();
                io.run_one_for(60s);
                failed = allocations_left < 0;
            } catch (const std::bad_alloc&) {
                failed = true;
            }
            error_code second = asio::error::would_block;
            held.wait_revoked([&](error_code ec) { second = ec; });
            std::optional<error_code> asked; // once the client is connected again
            while (!asked || *asked == errc::not_connected || *asked == errc::outcome_unknown) {
                asked.reset();
                c.set(held.node(), "__REVOKE__", [&](error_code ec, const auto&...) { asked = ec; });
                run_until(io, [&] { return asked.has_value(); });
            }
            CHECK(!*asked);
            run_until(io, [&] { return second != asio::error::would_block; });
            CHECK(!second);
            cancel.emit(asio::cancellation_type::terminal);
            run_until(io, [&] { return first.is_over(); });
        }
        const ending closed;
        c.close(closed.handler());
        run_until(io, [&] { return closed.is_over(); });
    }
    expect_clean(server);
}

TEST_CASE("permits that are taken out meet an exception: they are given back")
{
    zookeeper_server server;
    asio::io_context io;
    client_options options = options_for(server.address());
    options.connect_backoff = 1ms;
    client c(io, options);
    semaphore gate(c, "/memory-of-permits", 2);
    permits held;
    const auto take = [&] {
        gate.acquire(2, [&](error_code ec, permits p) {
            CHECK_FALSE(ec);
            held = std::move(p);
        });
        run_until(io, [&] { return static_cast<bool>(held); });
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
            try {
                const short_of_memory now(number);
                io.restart();
                io.run_one_for(60s);
                failed = allocations_left < 0;
            } catch (const std::bad_alloc&) {
                failed = true;
            }
            run_until(io, [&] { return out.is_over(); });
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
        CHECK(run_until(io, [&] { return first.is_over() && second.is_over() && out.is_over(); }) == 1);
        CHECK(*first.calls == 0);
        CHECK(*second.calls == 1);
        CHECK(*out.calls == 1);
        CHECK(!held);
        take();
        held = permits();
    }
    const ending closed;
    c.close(closed.handler());
    run_until(io, [&] { return closed.is_over(); });
    expect_clean(server, {"/memory-of-permits/locks", "/memory-of-permits/leases"});
}

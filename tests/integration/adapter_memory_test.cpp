// sanitizers: none
// program: memory
// Memory that fails, at whichever allocation: at the call, the operation has done nothing; inside the client, the
// client fails as a whole, and nobody else.
#include "integration/memory_scene.hpp"
#include "support/expect_clean.hpp"
#include "support/failing_executor.hpp"
#include "support/one_server.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/errc.hpp>

#include <future>
#include <stdexcept>

using namespace zklock::test;

namespace {

const error_code no_memory = make_error_code(boost::system::errc::not_enough_memory);

client_options short_session()
{
    return options_for(server().address(), 4s);
}

/// How an operation has ended, if it has.
struct told : ending {
    std::shared_ptr<error_code> how = std::make_shared<error_code>();

    /// Destroys what it is granted.
    [[nodiscard]] auto handler() const
    {
        return [calls = calls, how = how](error_code ec, const auto&...) {
            ++*calls;
            *how = ec;
        };
    }
    [[nodiscard]] bool ended_with(error_code ec) const { return *calls == 1 && *how == ec; }
};

/// A client that holds a lock, and has one of each kind of operation begun, as memory fails.
struct busy_client {
    explicit busy_client(int number) : path("/memory-of-which-there-is-too-little-" + std::to_string(number)) {}

    /// Begins them. False if one has thrown: it has done nothing, and the others are not begun.
    bool begin()
    {
        const std::vector<std::function<void(const told&)>> all{
            [&](const told& t) { held.wait_lost(t.handler()); },
            [&](const told& t) { held.wait_revoked(t.handler()); },
            [&](const told& t) { c.get(path, t.handler()); },
            [&](const told& t) { c.children(path, t.handler()); },
            [&](const told& t) { lock.contenders(t.handler()); },
            [&](const told& t) { lock.acquire(t.handler()); },
            [&](const told& t) { gate.permits_of(2).acquire(t.handler()); },
            [&](const told& t) { both.acquire(t.handler()); },
            [&](const told& t) { held.commit(transaction(), t.handler()); },
            [&](const told& t) { c.wait_created("/memory-that-never-comes", t.handler()); },
            [&](const told& t) { stock.release(1, t.handler()); },
            [&](const told& t) { stock.split(1, t.handler()); },
            [&](const told& t) { ledger.downgrade(std::move(writer), t.handler()); },
            [&](const told& t) { race.resign(t.handler()); },
            [&](const told& t) { std::move(given_back).release(t.handler()); },
        };
        try {
            for (const auto& each : all) {
                endings.push_back(std::move(spare.back()));
                spare.pop_back();
                each(endings.back());
            }
        } catch (const std::bad_alloc&) {
            CHECK(endings.back().is_over());
            CHECK(*endings.back().calls == 0);
            endings.pop_back();
            return false;
        }
        return true;
    }
    [[nodiscard]] bool all_over() const { return std::ranges::all_of(endings, &ending::is_over); }

    const std::string path;
    asio::io_context io;
    client c{io, short_session()};
    mutex lock{c, path};
    semaphore gate{c, path + "/gate", 2};
    semaphore store_room{c, path + "/store room", 3};
    shared_mutex ledger{c, path + "/ledger"};
    mutex desk{c, path + "/desk"};
    mutex chair{c, path + "/chair"};
    mutex lamp{c, path + "/lamp"};
    multi_lock both{chair, lamp};
    election race{c, path + "/race"};
    guard held = take(io, lock);
    guard writer = take(io, ledger);
    guard given_back = take(io, desk);
    permits stock = take_permits(3);
    static constexpr std::size_t kinds = 15;
    std::vector<told> spare = std::vector<told>(kinds); // made while there is memory
    std::vector<told> endings = [] {                    // no room for one is to be sought later
        std::vector<told> none;
        none.reserve(kinds);
        return none;
    }();

private:
    permits take_permits(std::size_t count)
    {
        permits all;
        store_room.permits_of(count).acquire([&](error_code ec, permits given) {
            CHECK_FALSE(ec);
            all = std::move(given);
        });
        run_past_failures(io, [&] { return static_cast<bool>(all); });
        return all;
    }
};

/// Runs the client for a while, in which the so-and-so-manieth allocation fails. False if there were fewer.
bool run_short_of_memory(busy_client& b, int number)
{
    const short_of_memory now(number);
    bool begun = false;
    try {
        begun = b.begin();
    } catch (const std::bad_alloc&) { // of the test's own
    }
    for (const auto end = steady_clock::now() + 300ms; begun && !short_of_memory::has_struck();) {
        b.io.restart();
        b.io.run_one_for(10ms);
        if (steady_clock::now() > end)
            break;
    }
    return short_of_memory::has_struck();
}

} // namespace

TEST_CASE("memory fails once, at whichever allocation: the call has done nothing, or the client has failed as a whole")
{
    asio::io_context others_io;
    client other(others_io, short_session());
    int failures = 0;
    bool struck = true;
    for (int number = 1; struck; ++number) {
        CAPTURE(number);
        busy_client b(number);
        struck = run_short_of_memory(b, number);
        if (b.c.state() != connection_state::failed) {
            CHECK(b.held);
            b.held = guard();
            close(b.io, b.c);
            CHECK(b.all_over());
            continue;
        }
        ++failures;
        CHECK(!b.held);
        CHECK(b.held.held_until() == lease_clock::time_point());
        CHECK(b.c.session_id() == 0);
        CHECK(run_past_failures(b.io, [&] { return b.all_over(); }) == 0);
        for (const told& each : b.endings) {
            CHECK(*each.calls == 1);
            CHECK((!*each.how || *each.how == no_memory || *each.how == errc::lost || *each.how == errc::no_node));
        }
        if (!b.endings.empty())
            CHECK(b.endings.front().ended_with({})); // wait_lost()
        // The connection was cut, and not closed in good order: the node is there as long as the session.
        std::optional<error_code> seen;
        other.exists(b.held.node(), [&](error_code ec, const std::optional<node_stat>& node) {
            seen = ec;
            CHECK(node.has_value());
        });
        run_past_failures(others_io, [&] { return seen.has_value(); });
        CHECK(!*seen);

        const told later, released, closed;
        b.c.get(b.path, later.handler());
        std::move(b.held).release(released.handler());
        b.c.close(closed.handler());
        run_past_failures(b.io, [&] { return later.is_over() && released.is_over() && closed.is_over(); });
        CHECK(later.ended_with(no_memory));
        CHECK(released.ended_with(make_error_code(errc::lost)));
        CHECK(closed.ended_with(no_memory));
        CHECK(b.c.state() == connection_state::failed);
        run_past_failures(b.io, [&] { return b.io.stopped(); }); // it is no work any more
    }
    CHECK(failures > 50);
    CHECK(other.state() == connection_state::connected);
    close(others_io, other);
    expect_clean(server());
}

TEST_CASE("a client has failed: the next gets its lock when its session has timed out")
{
    busy_client b(0);
    for (int number = 1; b.c.state() != connection_state::failed; ++number) {
        b.endings.clear();
        b.spare = std::vector<told>(busy_client::kinds);
        static_cast<void>(run_short_of_memory(b, number));
    }
    asio::io_context io;
    client other(io, short_session());
    mutex lock(other, b.path);
    const auto began = steady_clock::now();
    guard next = take(io, lock);
    CHECK(next);
    CHECK(steady_clock::now() - began > 2s);
    next = guard();
    close(io, other);
    b.held = guard();
    run_past_failures(b.io, [&] { return b.io.stopped(); });
    expect_clean(server());
}

TEST_CASE("a client has failed: what is begun then on a thread of its context, without a pass through it, ends, too")
{
    asio::io_context io;
    client c(io, short_session());
    const told first, fails, last;
    c.get("/", first.handler());
    run_past_failures(io, [&] { return first.is_over(); });
    io.run_for(100ms); // so that it waits for no answer
    c.get("/", fails.handler());
    {
        const out_of_memory now;
        for (const auto end = steady_clock::now() + 60s; !fails.is_over() && steady_clock::now() < end;) {
            io.restart();
            io.run_one_for(1ms);
        }
    }
    CHECK(fails.ended_with(no_memory));
    CHECK(c.state() == connection_state::failed);
    bool begun = false;
    asio::post(io, [&] {
        c.get("/", last.handler());
        begun = true;
    });
    run_past_failures(io, [&] { return begun && last.is_over(); });
    CHECK(*last.calls == 1);
    CHECK(*last.how == no_memory);
    run_past_failures(io, [&] { return io.stopped(); });
    expect_clean(server());
}

TEST_CASE("a client fails: the body of run() is cancelled, which takes no memory")
{
    busy_client b(0);
    asio::steady_timer never(b.io, steady_clock::time_point::max());
    bool running = false, stopped = false;
    std::optional<out_of_memory> shortage;
    std::optional<error_code> outcome;
    mutex lock(b.c, "/memory-of-a-body");
    const auto body = [&](guard&) -> asio::awaitable<void> {
        running = true;
        error_code ec;
        co_await never.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        stopped = true;
        shortage.reset(); // what becomes of its result takes memory again
    };
    const auto work = [&]() -> asio::awaitable<void> {
        const result<void> ran = co_await lock.run(std::ref(body));
        outcome = ran ? error_code() : ran.error();
    };
    asio::co_spawn(b.io, work, [](std::exception_ptr) {});
    run_past_failures(b.io, [&] { return running; });
    const told read;
    b.c.get(b.path, read.handler());
    shortage.emplace();
    for (const auto end = steady_clock::now() + 60s; !stopped && steady_clock::now() < end;) {
        b.io.restart();
        b.io.run_one_for(1ms);
    }
    shortage.reset();
    CHECK(stopped);
    CHECK(b.c.state() == connection_state::failed);
    CHECK(read.ended_with(no_memory));
    run_past_failures(b.io, [&] { return outcome.has_value(); });
    CHECK(*outcome == errc::lost);
    b.held = guard();
    run_past_failures(b.io, [&] { return b.io.stopped(); });
    expect_clean(server());
}

TEST_CASE("a client fails: the body of run() is cancelled, which takes no memory on a pool of threads either")
{
    asio::thread_pool pool(1);
    std::optional<client> c(std::in_place, pool.get_executor(), short_session());
    asio::steady_timer never(pool, steady_clock::time_point::max());
    std::promise<void> running, stopped;
    mutex lock(*c, "/memory-of-a-body-on-a-pool");
    const auto body = [&](guard&) -> asio::awaitable<void> {
        running.set_value();
        error_code ec;
        co_await never.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        none_succeeds = false; // what becomes of its result takes memory again
        stopped.set_value();
    };
    const auto work = [&]() -> asio::awaitable<error_code> {
        const result<void> ran = co_await lock.run(std::ref(body));
        co_return ran ? error_code() : ran.error();
    };
    auto outcome = asio::co_spawn(pool, work, asio::use_future);
    REQUIRE(running.get_future().wait_for(60s) == std::future_status::ready);
    asio::post(pool, [] { none_succeeds = true; });
    const told read;
    c->get("/", read.handler());
    const bool has_stopped = stopped.get_future().wait_for(60s) == std::future_status::ready;
    asio::post(pool, [] { none_succeeds = false; });
    REQUIRE(has_stopped);
    CHECK(outcome.get() == errc::lost);
    CHECK(c->state() == connection_state::failed);
    c.reset();
    pool.join();
    CHECK(read.ended_with(no_memory));
    expect_clean(server());
}

TEST_CASE("a client fails while it connects, at whichever allocation: its listener and whoever waits for it are told")
{
    client_options options = short_session();
    bool struck = true;
    for (int number = 1; struck; ++number) {
        CAPTURE(number);
        asio::io_context io;
        std::optional<error_code> why;
        options.listener = listen_to_connection(io.get_executor(), [&why](const connection_event& e) {
            if (e.state == connection_state::failed)
                why = e.why;
        });
        std::optional<client> c;
        const told connected;
        c.emplace(io, options); // where memory fails in the constructor of its strand, Asio ends the process
        {
            const short_of_memory now(number);
            try {
                c->wait_connected(1h, connected.handler());
                while (!short_of_memory::has_struck() && !connected.is_over()) {
                    io.restart();
                    io.run_one_for(10ms);
                }
            } catch (const std::bad_alloc&) { // at the call
            }
            struck = short_of_memory::has_struck();
        }
        if (c && c->state() == connection_state::failed) {
            run_past_failures(io, [&] { return connected.is_over() && why; });
            CHECK(*why == no_memory);
            CHECK((*connected.calls == 0 || connected.ended_with(no_memory) || connected.ended_with({})));
        }
        c.reset();
        run_past_failures(io, [&] { return io.stopped(); });
        CHECK(connected.is_over());
    }
    expect_clean(server());
}

TEST_CASE("a handler whose executor has no memory for it is destroyed uncalled, and the client goes on")
{
    asio::io_context io;
    client c(io, options_for(server().address()));
    const auto fails = std::make_shared<bool>(false);
    const ending first, second;
    c.wait_connected(1h, asio::bind_executor(failing_executor(io.get_executor(), fails), first.handler()));
    c.wait_connected(1h, second.handler());
    *fails = true;
    CHECK(run_past_failures(io, [&] { return first.is_over() && second.is_over(); }) == 1);
    CHECK(*first.calls == 0);
    CHECK(*second.calls == 1);
    CHECK(c.state() == connection_state::connected);
    close(io, c);
    expect_clean(server());
}

TEST_CASE("guards and clients are destroyed without memory: what was held is given back, and the session ends")
{
    constexpr std::size_t locks = 40; // more than there is room for among what waits for the client's strand
    asio::io_context io;
    std::optional<client> c(std::in_place, io, options_for(server().address()));
    client other(io, options_for(server().address()));
    const auto path = [](std::size_t i) { return "/memory-" + std::to_string(i); };
    std::vector<guard> held(locks);
    for (std::size_t i = 0; i < locks; ++i) {
        mutex(*c, path(i)).acquire([&held, i](error_code, guard g) { held[i] = std::move(g); });
        run_past_failures(io, [&] { return static_cast<bool>(held[i]); });
    }
    {
        const out_of_memory now;
        for (guard& g : held)
            g = guard();
    }
    for (std::size_t i = 0; i < locks; ++i)
        mutex(other, path(i)).acquire([&held, i](error_code, guard g) { held[i] = std::move(g); });
    const auto holds = [](const guard& g) { return static_cast<bool>(g); };
    run_past_failures(io, [&] { return std::ranges::all_of(held, holds); });
    held.clear();
    const ending closed;
    other.close(closed.handler());
    {
        const out_of_memory now;
        c.reset();
    }
    run_past_failures(io, [&] { return io.stopped(); });
    CHECK(*closed.calls == 1);
    expect_clean(server());
}

TEST_CASE("a context is destroyed without memory, while some wait for nodes, and a semaphore is in use")
{
    const std::string missing = "/a node whose path is too long to be kept without memory";
    auto io = std::make_unique<asio::io_context>();
    std::optional<client> c(std::in_place, *io, options_for(server().address()));
    const ending wait, line;
    semaphore gate(*c, "/a semaphore whose path is too long for that, too", 1);
    std::optional<permits> held;
    c->wait_created(missing, wait.handler());
    gate.acquire([&held](error_code, permits got) { held = std::move(got); });
    run_past_failures(*io, [&] { return held && *held; });
    gate.acquire(line.handler());
    bool looked = false; // so the wait before has looked, too
    c->exists(missing, [&looked](const auto&...) { looked = true; });
    run_past_failures(*io, [&] { return looked; });
    {
        const out_of_memory now;
        io.reset();
    }
    CHECK(wait.is_over());
    CHECK(line.is_over());
    CHECK(*wait.calls == 0);
    CHECK(*line.calls == 0);
    held.reset();
    c.reset();
    expect_clean(server());
}

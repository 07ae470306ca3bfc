// sanitizers: none
// program: memory
// No memory for the strand and what is posted to it, or for the scheduler: what counts on kept memory goes on.
#include "integration/bridge_client.hpp"
#include "support/failing_memory.hpp"

#include <boost/asio/dispatch.hpp>

#include <future>

using namespace zklock::test;

namespace {

/// Runs for so long at most, until that holds; exceptions for want of memory come and go.
bool runs_until(asio::io_context& io, const std::function<bool()>& holds, milliseconds limit)
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

} // namespace

TEST_CASE("no memory while a deadline is brought forward and the strand is busy: its function runs")
{
    asio::io_context io;
    const auto strand = runtime::make_strand(io.get_executor());
    const auto scheduler = runtime::asio_scheduler::make(strand);
    const asio_fails_too everywhere;
    std::optional<out_of_memory> now;
    bool ran = false;
    static_cast<void>(scheduler->call_at(scheduler->now() + std::chrono::seconds(100), [] { FAIL("it ran"); }));
    asio::post(strand, [&] {
        static_cast<void>(scheduler->call_at(scheduler->now(), [&] { ran = true; }));
        asio::post(strand, [] {}); // the strand is busy with it when both waits end
        now.emplace();
    });
    runs_until(
        io, [&] { return ran; }, milliseconds(100));
    now.reset();
    CHECK(runs_until(
        io, [&] { return ran; }, milliseconds(5000)));
}

TEST_CASE("a scheduler goes without memory, and drops what it was to do")
{
    asio::io_context io;
    const auto kept = std::make_shared<int>();
    {
        auto scheduler = runtime::asio_scheduler::make(runtime::make_strand(io.get_executor()));
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
    SUBCASE("on an io_context") {
        asio::io_context io;
        const auto runs = [&] {
            io.restart();
            io.run();
        };
        posts_without_memory(
            io, [] {}, runs);
    }
    SUBCASE("on a pool of threads") {
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

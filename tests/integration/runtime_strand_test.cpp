// program: adapter
// The strand that a client runs in, on executors of whatever kind; what it keeps memory for comes and goes on all
// threads.
#include "runtime/strand.hpp"
#include "support/failing_executor.hpp"
#include "support/polling.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace zklock::test {

namespace asio = boost::asio;

namespace {

using clock = std::chrono::steady_clock;
using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, runtime::strand>;

/// Has functions of many threads run there. What they count is not atomic: the thread sanitizer looks, too.
void crowd(const asio::any_io_executor& on)
{
    constexpr int posters = 3, each = 1'000, waits = 200;
    const auto s = runtime::make_strand(on);
    const auto owner = std::make_shared<int>();
    std::atomic<int> inside = 0, wrong = 0;
    int ran = 0, woken = 0, waited = 0;
    std::array<int, posters> last{};
    const auto visit = [&](int& count) {
        wrong += inside++ != 0 || !s.running_in_this_thread();
        ++count;
        --inside;
    };
    runtime::wake_up wake([&] { visit(woken); });
    runtime::memory_of_wait of_wait;
    timer soon(s);
    std::function<void()> wait = [&] {
        soon.expires_after(clock::duration::zero());
        soon.async_wait(asio::bind_allocator(of_wait.get(), [&](const boost::system::error_code&) {
            visit(waited);
            wake.post(s, owner);
            if (waited != waits)
                wait();
        }));
    };
    asio::post(s, wait);
    std::vector<std::thread> threads;
    for (std::size_t poster = 0; poster < posters; ++poster)
        threads.emplace_back([&, poster] {
            for (int number = 1; number <= each; ++number) {
                asio::post(s, [&, poster, number] {
                    visit(ran);
                    wrong += std::exchange(last[poster], number) != number - 1;
                });
                wake.post(s, owner);
                asio::post(on, [&] { asio::dispatch(s, [&] { visit(ran); }); }); // at once, or later
            }
        });
    for (auto& thread : threads)
        thread.join();
    std::atomic<bool> all = false, last_wake = false;
    runtime::wake_up end([&] { last_wake = true; });
    std::function<void()> look = [&] {
        if (ran == 2 * posters * each && waited == waits) {
            all = true;
            end.post(s, owner);
        } else {
            asio::post(s, look);
        }
    };
    asio::post(s, look);
    const auto until = clock::now() + default_limit;
    while (!last_wake && clock::now() < until)
        std::this_thread::yield();
    CHECK(all);
    CHECK(last_wake);
    CHECK(wrong == 0);
    CHECK_FALSE(s.running_in_this_thread());
}

/// An executor that runs everything in the call.
struct at_once {
    template <class F> void execute(F&& f) const { std::decay_t<F>(std::forward<F>(f))(); }
    [[nodiscard]] at_once require(asio::execution::blocking_t::never_t) const { return *this; } // not asked for here
    [[nodiscard]] asio::execution_context& query(asio::execution::context_t) const noexcept { return *io; }
    friend bool operator==(const at_once&, const at_once&) noexcept = default;

    std::shared_ptr<asio::io_context> io = std::make_shared<asio::io_context>();
};

} // namespace

TEST_CASE("functions of many threads run one at a time, those of one thread in order; no wake-up is lost")
{
    asio::thread_pool pool(3);
    SUBCASE("on a pool of threads")
        crowd(pool.get_executor());
    SUBCASE("on a strand of somebody else's")
        crowd(asio::make_strand(pool));
    SUBCASE("on an io_context that several threads run") {
        asio::io_context io;
        auto work = asio::make_work_guard(io);
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i)
            threads.emplace_back([&io] { io.run(); });
        crowd(io.get_executor());
        work.reset();
        for (auto& thread : threads)
            thread.join();
    }
    pool.join();
}

TEST_CASE("what is posted in the strand waits for the executor's other work; a wake-up that is posted twice runs once")
{
    asio::io_context io;
    const auto s = runtime::make_strand(io.get_executor());
    const auto owner = std::make_shared<int>();
    std::vector<std::string> said;
    runtime::wake_up wake([&] { said.emplace_back("woken"); });
    asio::post(s, [&] {
        asio::post(io, [&] { said.emplace_back("other work"); });
        wake.post(s, owner);
        asio::post(s, [&] { said.emplace_back("last"); });
        wake.post(s, owner);
        said.emplace_back("first");
    });
    CHECK(said.empty());
    io.run();
    CHECK(said == std::vector<std::string>{"first", "other work", "woken", "last"});
    CHECK(owner.use_count() == 1);
}

TEST_CASE("an exception leaves the executor, and the rest runs later")
{
    asio::io_context io;
    const auto s = runtime::make_strand(io.get_executor());
    int ran = 0;
    asio::post(s, [&] {
        asio::post(s, [&] { ++ran; });
        throw std::runtime_error("meant to");
    });
    asio::post(s, [&] { ++ran; });
    CHECK_THROWS_AS(io.run(), std::runtime_error);
    CHECK(ran == 0);
    io.run();
    CHECK(ran == 2);
    CHECK_FALSE(s.running_in_this_thread());
}

TEST_CASE("what an executor has thrown is known, also where Asio may not let it through")
{
    for (const bool at_the_end : {false, true}) { // of a function of the strand's
        CAPTURE(at_the_end);
        asio::io_context io;
        const auto fails = std::make_shared<bool>(false), ran = std::make_shared<bool>(false);
        {
            const auto never = [ran] { *ran = true; };
            runtime::wake_up waits_for_ever{never};
            const auto s = runtime::make_strand(
                failing_executor(io.get_executor(), fails, std::make_exception_ptr(std::runtime_error("meant to"))));
            const auto refusal = [&s] { return s.get_inner_executor().refusal(); };
            asio::post(s, [&] {
                if (at_the_end)
                    asio::post(s, never);
                *fails = at_the_end;
                throw std::logic_error("a function's own");
            });
            CHECK_THROWS_AS(io.run(), std::logic_error);
            if (!at_the_end) {
                CHECK_FALSE(refusal());
                *fails = true;
                CHECK_THROWS_AS(asio::post(s, never), std::runtime_error);
            }
            REQUIRE(refusal());
            CHECK_THROWS_WITH(std::rethrow_exception(refusal()), "meant to");
            asio::post(s, never);
            waits_for_ever.post(s, nullptr);
            io.restart();
            io.run_for(default_limit);
            CHECK(io.stopped()); // what waits is no work
            CHECK_FALSE(*ran);
        }
        CHECK(ran.use_count() == 1);
    }
}

TEST_CASE("what a function throws that an executor runs at once is not taken for a refusal")
{
    const auto s = runtime::make_strand(at_once());
    CHECK_THROWS_AS(asio::dispatch(s, [] { throw std::runtime_error("meant to"); }), std::runtime_error);
    CHECK_FALSE(s.get_inner_executor().refusal());
    bool ran = false;
    asio::dispatch(s, [&ran] { ran = true; });
    CHECK(ran);
}

TEST_CASE("a context that goes away takes along what was not run, and its owners with it")
{
    struct owned {
        runtime::wake_up wake{[] { FAIL("it ran"); }};
        runtime::memory_of_wait of_wait;
    };
    const auto kept = std::make_shared<int>();
    std::weak_ptr<owned> watched;
    {
        asio::io_context io;
        const auto s = runtime::make_strand(io.get_executor());
        timer later(s, std::chrono::hours(1));
        auto o = std::make_shared<owned>();
        watched = o;
        asio::post(s, [kept, s] { FAIL("it ran"); });
        o->wake.post(s, o);
        later.async_wait(asio::bind_allocator(o->of_wait.get(), [o, kept](const boost::system::error_code& ec) {
            static_cast<void>(ec);
            FAIL("it ran");
        }));
    }
    CHECK(kept.use_count() == 1);
    CHECK(watched.expired());
}

} // namespace zklock::test

// program: public_headers
// Where handlers run, how often, with what kept alive meanwhile: on one thread, on many, and on a pool.
#include "support/busy_threads.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"
#include "support/options_for.hpp"
#include "support/run_test.hpp"
#include "support/run_until.hpp"
#include "zklock/zklock.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <future>
#include <thread>

using namespace zklock::test;

namespace {

client_options default_options()
{
    return options_for(server().address());
}

/// An executor that knows, on each thread, whether one of its functions is running.
class tracker_executor {
public:
    tracker_executor(asio::any_io_executor inner, std::atomic<int>& executed)
        : inner_(std::move(inner)), executed_(&executed)
    {
    }

    template <class F> void execute(F&& f) const
    {
        auto tracked = [f = std::forward<F>(f), executed = executed_]() mutable {
            ++*executed;
            const auto before = std::exchange(running_, executed);
            std::move(f)();
            running_ = before;
        };
        asio::require(inner_, asio::execution::blocking.never).execute(std::move(tracked));
    }
    [[nodiscard]] tracker_executor require(asio::execution::outstanding_work_t::tracked_t tracked) const
    {
        return {asio::prefer(inner_, tracked), *executed_};
    }
    [[nodiscard]] tracker_executor require(asio::execution::outstanding_work_t::untracked_t untracked) const
    {
        return {asio::prefer(inner_, untracked), *executed_};
    }
    [[nodiscard]] asio::execution_context& query(asio::execution::context_t what) const noexcept
    {
        return asio::query(inner_, what);
    }
    [[nodiscard]] static bool is_running(const std::atomic<int>& executed) noexcept { return running_ == &executed; }
    friend bool operator==(const tracker_executor&, const tracker_executor&) noexcept = default;

private:
    asio::any_io_executor inner_;
    std::atomic<int>* executed_;
    static thread_local std::atomic<int>* running_;
};
thread_local std::atomic<int>* tracker_executor::running_ = nullptr;

/// Counts what it has given out.
template <class T> struct counting_allocator {
    using value_type = T;
    explicit counting_allocator(std::atomic<int>& n) noexcept : live(&n) {}
    template <class U> counting_allocator(const counting_allocator<U>& other) noexcept : live(other.live) {}

    T* allocate(std::size_t n)
    {
        ++*live;
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* p, std::size_t n)
    {
        --*live;
        std::allocator<T>().deallocate(p, n);
    }
    template <class U> bool operator==(const counting_allocator<U>& other) const noexcept { return live == other.live; }

    std::atomic<int>* live;
};

} // namespace

TEST_CASE("handlers run on their executor, once, and never inside the call")
{
    asio::io_context io;    // the client's
    asio::io_context other; // the handlers'
    std::atomic<int> executed = 0;
    tracker_executor tracker(other.get_executor(), executed);
    int handlers = 0;
    bool inside_call = false;
    auto expected = [&] {
        ++handlers;
        CHECK_FALSE(inside_call);
        CHECK(tracker_executor::is_running(executed));
    };
    // Both contexts by turns, on this thread, until the handler was called; neither may run dry before.
    auto run_until_handled = [&](int n) {
        const auto deadline = steady_clock::now() + 60s;
        other.restart();
        while (handlers < n && steady_clock::now() < deadline) {
            io.restart();
            io.run_one_for(10ms);
            CHECK_FALSE(io.stopped());
            CHECK_FALSE(other.stopped());
            other.poll_one();
        }
        REQUIRE(handlers == n);
    };
    auto call = [&](auto&& start) {
        inside_call = true;
        start();
        inside_call = false;
        CHECK(tracker_executor::is_running(executed) == false);
    };

    auto on_tracker = [&](auto check) {
        return asio::bind_executor(tracker, [&expected, check](error_code ec, auto... values) {
            expected();
            check(ec, std::move(values)...);
        });
    };
    auto succeeds = [](error_code ec) { CHECK_FALSE(ec); };
    auto fails_with = [](errc why) { return [why](error_code ec, auto&&...) { CHECK(ec == why); }; };

    std::optional<client> c(std::in_place, io, default_options());
    CHECK(c->get_executor() == asio::any_io_executor(io.get_executor()));
    mutex lock(*c, "/executor");
    call([&] { c->wait_connected(60s, on_tracker(succeeds)); });
    run_until_handled(1);
    // Known at once, and posted all the same.
    call([&] { c->wait_connected(60s, on_tracker(succeeds)); });
    run_until_handled(2);

    guard held;
    auto keep = [&](error_code ec, guard g) {
        CHECK_FALSE(ec);
        held = std::move(g);
    };
    call([&] { lock.acquire(60s, on_tracker(keep)); });
    run_until_handled(3);
    call([&] { lock.try_acquire(on_tracker(fails_with(errc::busy))); });
    run_until_handled(4);
    call([&] { lock.contenders(on_tracker([](error_code, const auto& queue) { CHECK(queue.size() == 1); })); });
    run_until_handled(5);
    std::optional<error_code> lost;
    call([&] { held.wait_lost(on_tracker([&](error_code ec) { lost = ec; })); });
    call([&] { std::move(held).release(on_tracker(succeeds)); });
    run_until_handled(7);
    CHECK(lost == error_code(asio::error::operation_aborted));

    // Of a guard that is empty, of a path that cannot be.
    call([&] { std::move(held).release(on_tracker(fails_with(errc::not_owner))); });
    run_until_handled(8);
    mutex nowhere(*c, "nowhere");
    call([&] { nowhere.acquire(on_tracker(fails_with(errc::invalid_path))); });
    run_until_handled(9);
    call([&] { c->close(on_tracker(succeeds)); });
    run_until_handled(10);
    io.restart();
    io.run_for(60s);
    other.restart();
    CHECK(io.stopped());
    CHECK(other.run_for(60s) == 0);
    CHECK(handlers == 10);
}

TEST_CASE("the handler's allocator has all back before the handler runs")
{
    asio::io_context io;
    client c(io, default_options());
    mutex lock(c, "/allocator");
    std::atomic<int> live = 0;
    std::optional<int> live_in_handler;
    lock.acquire(60s, asio::bind_allocator(counting_allocator<char>(live), [&](error_code ec, guard) {
                     CHECK_FALSE(ec);
                     live_in_handler = live.load();
                     c.close(asio::detached);
                 }));
    CHECK(live > 0);
    io.run_for(60s);
    CHECK(live_in_handler == 0);
    CHECK(live == 0);
}

TEST_CASE("a pending operation keeps run() going, on both contexts; nothing pending, nothing open: it returns")
{
    asio::io_context io;
    asio::io_context other;
    client c(io, default_options());
    mutex lock(c, "/work");
    guard first;
    bool granted = false;
    std::thread others;
    lock.acquire(60s, [&](error_code, guard g) {
        first = std::move(g);
        lock.acquire(60s, asio::bind_executor(other, [&](error_code ec, guard) {
                         CHECK_FALSE(ec);
                         CHECK(other.get_executor().running_in_this_thread());
                         granted = true;
                         c.close(asio::detached);
                     }));
        // Nothing but the pending operation keeps this one from returning at once.
        others = std::thread([&] {
            other.run_for(60s);
            CHECK(granted);
            CHECK(other.stopped());
        });
        first = guard();
    });
    io.run_for(60s);
    CHECK(io.stopped());
    others.join();
    CHECK(granted);
}

namespace {

/// One of many contenders: counts who is inside.
asio::awaitable<void> take_turns(mutex lock, int rounds, std::atomic<int>& inside,
                                 std::atomic<std::int64_t>& last_token, std::atomic<int>& turns)
{
    for (int i = 0; i < rounds; ++i) {
        result<guard> held = co_await lock.acquire(120s);
        REQUIRE(held);
        CHECK(++inside == 1);
        const auto token = held.value().fencing_token();
        CHECK(last_token.exchange(token) < token);
        ++turns;
        --inside;
        result<void> released = co_await std::move(held.value()).release();
        CHECK(released);
    }
}

void many_on(const asio::any_io_executor& executor, const std::function<void()>& run)
{
    std::atomic<int> inside = 0;
    std::atomic<int> turns = 0;
    std::atomic<std::int64_t> last_token = 0;
    client one(executor, default_options());
    client two(executor, default_options());
    std::atomic<int> left = 20;
    for (int i = 0; i < 20; ++i) {
        auto done = [&](std::exception_ptr e) {
            CHECK_FALSE(e);
            if (--left == 0) {
                one.close(asio::detached);
                two.close(asio::detached);
            }
        };
        asio::co_spawn(executor, take_turns(mutex(i % 2 ? one : two, "/many"), 10, inside, last_token, turns), done);
    }
    // Observers, from a thread of their own.
    busy_threads observer(1, [&] {
        CHECK(one.state() != connection_state::failed);
        CHECK(two.session_id() >= 0);
        std::this_thread::yield();
    });
    run();
    observer.stop();
    CHECK(left == 0);
    CHECK(turns == 200);
    CHECK(one.state() == connection_state::closed);
}

} // namespace

TEST_CASE("a hold that is nobody's, or another's, is refused on the client's executor")
{
    asio::io_context io;
    client zk(io, options_for("127.0.0.1:1"));
    reentrant_mutex lock(zk, "/refused");
    guard none;
    std::promise<std::pair<error_code, std::thread::id>> told;
    auto answer = told.get_future();
    lock.release(lock_owner(), none, [&](error_code ec) { told.set_value({ec, std::this_thread::get_id()}); });
    run_until(io, [&] { return answer.wait_for(0s) == std::future_status::ready; });
    const auto [ec, thread] = answer.get();
    CHECK(ec == errc::not_owner);
    CHECK(thread == std::this_thread::get_id());
}

TEST_CASE("two clients and twenty contenders on any executor")
{
    SUBCASE("one thread") {
        asio::io_context io;
        many_on(io.get_executor(), [&] { io.run_for(120s); });
    }
    SUBCASE("four threads") {
        asio::io_context io;
        auto run = [&] {
            std::vector<std::thread> threads;
            for (int i = 0; i < 4; ++i)
                threads.emplace_back([&] { io.run_for(120s); });
            for (auto& t : threads)
                t.join();
        };
        many_on(io.get_executor(), run);
    }
    SUBCASE("a pool") {
        asio::thread_pool pool(4);
        many_on(pool.get_executor(), [&] { pool.wait(); });
    }
    SUBCASE("a strand of the user's own") {
        asio::io_context io;
        many_on(asio::make_strand(io), [&] { io.run_for(120s); });
    }
    expect_clean(server(), {"/many"});
}

TEST_CASE("a handler that the caller keeps is copied, not moved from")
{
    asio::io_context io;
    std::optional<client> zk(std::in_place, io, options_for("127.0.0.1:1"));
    int whole = 0;
    auto kept = [&whole, part = std::make_shared<int>()](error_code, const auto&...) { whole += part != nullptr; };
    zk->get("/a", kept);
    zk->create("/a", "", kept);
    zk->commit(transaction(), kept);
    zk->remove("/a", kept);
    zk.reset();
    io.run();
    CHECK(whole == 4);
}

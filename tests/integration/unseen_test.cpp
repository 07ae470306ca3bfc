// sanitizers: address
// program: told
// A guard that nobody looks at is given back at once: that is told, and nothing else is taken for it.
#include "integration/recipe_scene.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

using namespace zklock::test;

namespace {

/// A client whose warnings are kept, and the locks of one path with a listener.
struct watched {
    explicit watched(const asio::any_io_executor& executor)
        : zk(executor, options()), lock(zk, "/unseen/lock", with_listener(executor))
    {
    }

    [[nodiscard]] client_options options()
    {
        client_options o = fault_options(server().address(), long_session);
        o.log = [this](log_level level, std::string_view text) {
            if (level == log_level::warning && text.find("nobody had looked") != text.npos)
                warnings.emplace_back(text);
        };
        return o;
    }
    [[nodiscard]] mutex_options with_listener(const asio::any_io_executor& executor)
    {
        mutex_options o;
        o.listener = listen(executor, [this](const lock_event& e) {
            if (e.what == lock_event::kind::released)
                releases.push_back(e);
        });
        return o;
    }
    /// So many more releases are told.
    awaitable<void> until_released(std::size_t more = 1)
    {
        expected += more;
        co_await until("the releases are told", [this] { return releases.size() == expected; });
    }

    /// The warning says that, after who the client is.
    [[nodiscard]] bool has_warning(std::size_t index, std::string_view text) const
    {
        return warnings.at(index).find(text) != std::string::npos;
    }

    std::vector<std::string> warnings;
    std::vector<lock_event> releases;
    std::size_t expected = 0;
    client zk;
    mutex lock;
};

} // namespace

TEST_CASE("a result without a name: the log has path and node, and the listener hears of it")
{
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        watched w(executor);
        static_cast<void>(co_await w.lock.acquire());
        co_await w.until_released();
        CHECK(w.releases[0].unseen);
        REQUIRE(w.warnings.size() == 1);
        CHECK(w.has_warning(0, "/unseen/lock was given back in the turn in which it was granted (" +
                                   w.releases[0].node + ")"));

        // Again and again at the same places: the log tells it ever more rarely, and the listener each time.
        mutex other(w.zk, "/unseen/other", w.with_listener(executor));
        for (int n = 0; n < 32; ++n)
            for (mutex* lock : {&w.lock, &other}) {
                static_cast<void>(co_await lock->acquire(60s));
                co_await w.until_released();
                CHECK(w.releases.back().unseen);
            }
        CHECK(w.warnings.size() >= 2);
        CHECK(w.warnings.size() < 32);

        // A hold of an owner who has others is no matter for the listener; the last one is.
        w.warnings.clear();
        reentrant_mutex again(w.zk, "/unseen/again", w.with_listener(executor));
        {
            lock_owner me;
            guard outer = must(co_await again.owned_by(me).acquire());
            static_cast<void>(co_await again.owned_by(me).acquire());
            co_await release(std::move(outer));
            co_await w.until_released();
            CHECK_FALSE(w.releases.back().unseen);
            static_cast<void>(co_await again.owned_by(me).acquire());
            co_await w.until_released();
            CHECK(w.releases.back().unseen);
            CHECK(w.warnings.size() >= 1);
        }

        // Permits, and several locks as one: the path of each.
        w.warnings.clear();
        const auto counted_before = w.zk.metrics().unseen;
        semaphore gate(w.zk, "/unseen/gate", 3);
        static_cast<void>(co_await gate.permits_of(2).acquire());
        multi_lock both(mutex(w.zk, "/unseen/a"), mutex(w.zk, "/unseen/b"));
        static_cast<void>(co_await both.acquire());
        guard after = must(co_await mutex(w.zk, "/unseen/a").acquire());
        REQUIRE(w.warnings.size() == 3);
        CHECK(w.has_warning(0, "/unseen/gate was"));
        CHECK(w.has_warning(1, "/unseen/a was"));
        CHECK(w.has_warning(2, "/unseen/b was"));
        CHECK(w.zk.metrics().unseen == counted_before + 2); // guards
        co_await release(std::move(after));
        must(co_await w.zk.close());
    });
}

namespace {

/// Plays `what() || timer` in a coroutine of another context, which runs when the scene says so: both operands have
/// ended before the coroutine hears of one, which is the timer, or else the operation. `end` has the operation end;
/// `ended` says whether it has.
template <class What, class End, class Ended>
awaitable<void> both_at_once(bool timer_first, What what, End end, Ended ended)
{
    using namespace asio::experimental::awaitable_operators;
    const auto executor = co_await asio::this_coro::executor;
    asio::io_context own;
    const auto idle = asio::make_work_guard(own);
    asio::steady_timer timer(own, asio::steady_timer::time_point::max());
    std::optional<std::size_t> first;
    const auto race = [&]() -> awaitable<void> {
        auto either = co_await (what() || timer.async_wait(asio::as_tuple(asio::use_awaitable)));
        first = either.index();
    };
    asio::co_spawn(own, race, asio::detached);
    own.poll();
    if (timer_first)
        timer.cancel();
    end();
    co_await until("the operation has ended", ended);
    for (int n = 0; n < 3; ++n) // it goes to the other context
        co_await asio::post(executor, asio::use_awaitable);
    if (!timer_first)
        timer.cancel();
    const auto decided = [&] {
        own.poll();
        return first.has_value();
    };
    co_await until("it is decided", decided);
    CHECK(*first == (timer_first ? 1 : 0));
}

} // namespace

TEST_CASE("`acquire() || timer`: if both end in one moment, the lock that the operator drops is no matter to warn of; "
          "`split() || timer`, likewise")
{
    play<0>([&]() -> awaitable<void> {
        watched w(co_await asio::this_coro::executor);
        semaphore gate(w.zk, "/unseen/parted", 2);
        permits held = must(co_await gate.permits_of(2).acquire());
        for (const bool timer_first : {true, false}) {
            CAPTURE(timer_first);
            guard before = must(co_await w.lock.acquire(60s));
            pending<> releasing;
            const auto acquired = w.zk.metrics().all.acquired;
            const auto acquire = [&] { return w.lock.acquire(); };
            const auto let_go = [&] { std::move(before).release(releasing.handler()); };
            const auto granted = [&] { return w.zk.metrics().all.acquired == acquired + 1; };
            co_await both_at_once(timer_first, acquire, let_go, granted);
            CHECK(!co_await releasing.end());
            co_await w.until_released(2);
            CHECK_FALSE(w.releases.back().unseen);

            const auto parts = held.count();
            const auto split = [&] { return held.split(1); };
            const auto it_ends_by_itself = [] {};
            const auto is_split = [&] { return held.count() == parts - 1; };
            co_await both_at_once(timer_first, split, it_ends_by_itself, is_split);
            CHECK(w.warnings.empty());
            CHECK(w.zk.metrics().unseen == 0);
        }
        must(co_await w.zk.close());
    });
}

TEST_CASE("whatever is looked at, kept or handed on is no matter for a warning")
{
    using namespace asio::experimental::awaitable_operators;
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        watched w(executor);
        { // asked, and given back in the same turn
            auto held = co_await w.lock.acquire(60s);
            REQUIRE(held);
        }
        co_await w.until_released();
        if (auto held = co_await w.lock.acquire(60s)) {
        }
        co_await w.until_released();
        {
            const auto held = co_await w.lock.acquire(60s);
            CHECK_FALSE(held.has_failure());
        }
        co_await w.until_released();
        { // the guard is taken out
            guard held = (co_await w.lock.acquire(60s)).value();
        }
        co_await w.until_released();
        { // not looked at, but kept over a suspension
            const auto held = co_await w.lock.acquire(60s);
            co_await asio::post(executor, asio::use_awaitable);
        }
        co_await w.until_released();
        { // a plain result, which cannot tell
            const result<guard> held = co_await w.lock.acquire(60s);
        }
        co_await w.until_released();
        { // what is handed over bare need not be looked at
            guard held = co_await w.lock.acquire(60s, asio::use_awaitable);
        }
        co_await w.until_released();
        {
            auto [ec, held] = co_await w.lock.acquire(60s, asio::as_tuple(asio::use_awaitable));
            CHECK_FALSE(ec);
        }
        co_await w.until_released();
        const auto done = [](guard&) -> awaitable<void> { co_return; };
        must(co_await w.lock.run(60s, done));
        co_await w.until_released();
        // A callback that moves it on, as a result and bare.
        std::vector<guard> kept;
        w.lock.acquire(60s, as_result([&](acquired<guard> held) { kept.push_back(std::move(held).value()); }));
        co_await until("the callback has it", [&] { return kept.size() == 1; });
        kept.clear();
        co_await w.until_released();
        w.lock.acquire(60s, [](error_code ec, guard) { CHECK_FALSE(ec); });
        co_await w.until_released();
        // Errors have nothing to look at.
        guard busy = must(co_await w.lock.acquire());
        static_cast<void>(co_await w.lock.try_acquire());
        co_await release(std::move(busy));
        co_await w.until_released();

        CHECK(w.warnings.empty());
        for (const lock_event& e : w.releases)
            CHECK_FALSE(e.unseen);
        must(co_await w.zk.close());
    });
}

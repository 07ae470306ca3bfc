// sanitizers: address
// program: adapter
// What gives a result can be spawned, with every token of Asio; and results are Boost.Outcome's still. A consumer test
// compiles this file as C++23, too.
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"
#include "support/options_for.hpp"
#include "support/run_test.hpp"
#include "zklock/zklock.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/outcome/try.hpp>

#include <future>
#include <stdexcept>
#include <variant>

using namespace zklock;
using namespace zklock::test;

namespace {

using asio::awaitable;
using asio::experimental::awaitable_operators::operator||;
template <class T> using plain_result = boost::outcome_v2::result<T, error_code>;

// What only moves, what is nothing, and what could be made of a result.
template <class T>
constexpr bool goes_both_ways =
    std::is_convertible_v<plain_result<T>, result<T>> && std::is_convertible_v<result<T>, plain_result<T>> &&
    std::is_nothrow_default_constructible_v<result<T>> && std::is_nothrow_move_constructible_v<result<T>> &&
    sizeof(result<T>) == sizeof(plain_result<T>);
static_assert(goes_both_ways<int> && goes_both_ways<bool> && goes_both_ways<void> && goes_both_ways<std::string>);
static_assert(goes_both_ways<std::unique_ptr<int>> && goes_both_ways<guard> && goes_both_ways<permits>);
static_assert(std::is_convertible_v<acquired<guard>, result<guard>>);
static_assert(!std::is_convertible_v<result<int>, int> && !std::is_convertible_v<result<int>, bool>);
static_assert(std::is_trivially_copyable_v<result<int>> == std::is_trivially_copyable_v<plain_result<int>>);

awaitable<result<int>> seven()
{
    co_return 7;
}
awaitable<result<int>> refused()
{
    co_return errc::busy;
}
awaitable<result<int>> thrown()
{
    throw std::runtime_error("thrown");
    co_return 7;
}
awaitable<plain_result<int>> plain_seven(guard&)
{
    co_return 7;
}
awaitable<plain_result<void>> plain_failure(guard&)
{
    co_return make_error_code(errc::busy);
}

plain_result<int> one_more(const result<int>& given)
{
    BOOST_OUTCOME_TRY(const int value, given);
    return value + 1;
}
result<int> two_more(const result<int>& given)
{
    BOOST_OUTCOME_TRY(const int value, one_more(given));
    return value + 1;
}
result<void> tried(const result<void>& given)
{
    BOOST_OUTCOME_TRY(given);
    return boost::outcome_v2::success();
}

} // namespace

TEST_CASE("a result of nothing is an error; others are what Boost.Outcome's are")
{
    CHECK(result<int>().error() == asio::error::operation_aborted);
    CHECK(result<void>().error() == asio::error::operation_aborted);
    const acquired<guard> none;
    CHECK(none.error() == asio::error::operation_aborted);

    result<bool> no = false; // of a result, no bool is made
    result<bool> copy = no;
    REQUIRE(copy);
    CHECK_FALSE(copy.value());

    CHECK(one_more(7).value() == 8);
    CHECK(two_more(7) == result<int>(9));
    CHECK(two_more(errc::busy).error() == errc::busy);
    CHECK(two_more(errc::busy) != result<int>(9));
    CHECK(tried(boost::outcome_v2::success()));
    CHECK(tried(errc::busy).error() == errc::busy);
    const plain_result<std::unique_ptr<int>> moved = result<std::unique_ptr<int>>(std::make_unique<int>(7));
    CHECK(*moved.value() == 7);
}

TEST_CASE("what gives a result is spawned, for every token")
{
    asio::io_context context;
    asio::thread_pool pool(1);

    std::optional<result<int>> given;
    std::exception_ptr failed;
    const auto keep = [&](std::exception_ptr e, result<int> r) {
        failed = e;
        given.emplace(r);
    };
    const auto spawn = [&](auto f) {
        asio::co_spawn(context, f, keep);
        context.restart();
        context.run();
        REQUIRE(given);
    };
    spawn(seven);
    CHECK(given->value() == 7);
    CHECK_FALSE(failed);
    spawn(refused);
    CHECK(given->error() == errc::busy);
    CHECK_FALSE(failed);
    spawn(thrown);
    CHECK(given->error() == asio::error::operation_aborted);
    CHECK_THROWS_AS(std::rethrow_exception(failed), std::runtime_error);

    CHECK(asio::co_spawn(pool, seven(), asio::use_future).get().value() == 7);
    CHECK_THROWS_AS(static_cast<void>(asio::co_spawn(pool, thrown(), asio::use_future).get()), std::runtime_error);
    const auto body = [&]() -> awaitable<void> {
        const result<int> elsewhere = co_await asio::co_spawn(pool, refused(), asio::use_awaitable);
        CHECK(elsewhere.error() == errc::busy);
        auto later = asio::co_spawn(pool, seven(), asio::deferred);
        const result<int> deferred = co_await std::move(later)(asio::use_awaitable);
        CHECK(deferred.value() == 7);
    };
    run_test(test_limit, body);
    pool.join();
}

TEST_CASE("run, lead and acquire are spawned")
{
    asio::io_context context;
    client zk(context, options_for(server().address()));
    mutex lock(zk, "/spawned/lock");
    election chair(zk, "/spawned/chair");
    int worked = 0;
    const auto work = [&](guard& held) -> awaitable<void> {
        CHECK(held);
        ++worked;
        co_return;
    };
    const auto lead = [&](leadership& term) -> awaitable<result<std::int64_t>> { co_return term.fencing_token(); };

    asio::co_spawn(context, lock.run(work), asio::detached);
    std::future<result<void>> ran = asio::co_spawn(context, lock.run(60s, work), asio::use_future);
    std::future<result<std::int64_t>> led = asio::co_spawn(context, chair.lead(lead), asio::use_future);
    std::optional<acquired<guard>> held;
    asio::co_spawn(context, lock.acquire(60s), [&](std::exception_ptr e, acquired<guard> delivered) {
        CHECK_FALSE(e);
        held.emplace(std::move(delivered));
        context.stop();
    });
    context.run_for(test_limit);
    REQUIRE(held);
    REQUIRE(*held);
    CHECK(worked == 2);
    context.restart();

    // Bodies may give Boost.Outcome's own results.
    const auto body = [&]() -> awaitable<void> {
        static_cast<void>(co_await std::move(held->value()).release());
        const result<int> seven = co_await lock.run(60s, plain_seven);
        CHECK(seven.value() == 7);
        const result<void> failed = co_await lock.run(60s, plain_failure);
        CHECK(failed.error() == errc::busy);
        asio::steady_timer timer(context, 1h);
        auto first = co_await (lock.run(60s, plain_seven) || timer.async_wait(asio::use_awaitable));
        REQUIRE(first.index() == 0);
        CHECK(std::get<0>(first).value() == 7);
        static_cast<void>(co_await zk.close());
    };
    std::future<void> done = asio::co_spawn(context, body, asio::use_future);
    context.run_for(test_limit);
    REQUIRE(done.wait_for(0s) == std::future_status::ready);
    done.get();
    REQUIRE(ran.wait_for(0s) == std::future_status::ready);
    CHECK(ran.get());
    REQUIRE(led.wait_for(0s) == std::future_status::ready);
    CHECK(led.get().value() > 0);
    expect_clean(server(), {"/spawned/lock", "/spawned/chair"});
}

// program: mutexes
// Never two inside: sessions on one thread and on many, a session on many threads, tries at once, two locks on a path.
#include "integration/lock_scene.hpp"

#include <future>

using namespace zklock::test;

namespace {

awaitable<void> visit_often(mutex lock, critical_section& section, std::size_t rounds)
{
    for (std::size_t i = 0; i < rounds; ++i)
        co_await visit(lock, section);
}

} // namespace

TEST_CASE("never two inside: several sessions on one thread")
{
    const std::string path = "/basics/sessions";
    constexpr std::size_t clients = 5;
    constexpr std::size_t contenders = 3;
    const std::size_t rounds = scaled(25);
    critical_section section;
    const auto body = [&](const any_io_executor& executor) -> awaitable<void> {
        std::vector<client> sessions;
        std::vector<awaitable<void>> visitors;
        for (std::size_t i = 0; i < clients; ++i) {
            sessions.emplace_back(executor, usual_options());
            mutex lock(sessions.back(), path);
            for (std::size_t j = 0; j < contenders; ++j)
                visitors.push_back(visit_often(lock, section, rounds));
        }
        co_await together(std::move(visitors));
        co_await nothing_left(server().port());
        for (client& zk : sessions)
            must(co_await zk.close());
    };
    run_test(test_limit, body);
    CHECK(section.grants == static_cast<int>(clients * contenders * rounds));
    expect_clean(server(), {path});
}

TEST_CASE("never two inside: a session per thread")
{
    const std::string path = "/basics/threads";
    constexpr std::size_t threads = 4;
    const std::size_t rounds = scaled(40);
    critical_section section;
    std::vector<std::future<void>> ends;
    for (std::size_t i = 0; i < threads; ++i)
        ends.push_back(std::async(std::launch::async, [&] {
            const auto body = [&]() -> awaitable<void> {
                client zk(co_await asio::this_coro::executor, usual_options());
                mutex lock(zk, path);
                co_await visit_often(lock, section, rounds);
                must(co_await zk.close());
            };
            run_test(test_limit, body);
        }));
    for (auto& end : ends)
        end.get();
    CHECK(section.grants == static_cast<int>(threads * rounds));
    expect_clean(server(), {path});
}

TEST_CASE("never two inside: one session on several threads")
{
    const std::string path = "/basics/pool";
    constexpr std::size_t contenders = 6;
    const std::size_t rounds = scaled(40);
    critical_section section;
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, usual_options());
        std::vector<awaitable<void>> visitors;
        for (std::size_t i = 0; i < contenders; ++i)
            visitors.push_back(visit_often(mutex(zk, path), section, rounds));
        co_await together(std::move(visitors));
        must(co_await zk.close());
    };
    run_test_on_threads(3, test_limit, body);
    CHECK(section.grants == static_cast<int>(contenders * rounds));
    expect_clean(server(), {path});
}

TEST_CASE("many sessions try at once and one wins")
{
    constexpr std::size_t tries = 8;
    const std::size_t rounds = scaled(15);
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        std::vector<client> sessions;
        for (std::size_t i = 0; i < tries; ++i)
            sessions.emplace_back(executor, usual_options());
        for (client& zk : sessions)
            must(co_await zk.wait_connected(60s));
        for (std::size_t round = 0; round < rounds; ++round) {
            const std::string path = "/basics/race/" + std::to_string(round);
            std::vector<pending<guard>> attempts(tries);
            for (std::size_t i = 0; i < tries; ++i)
                mutex(sessions[i], path).try_acquire(attempts[i].handler());
            std::vector<guard> winners;
            for (auto& attempt : attempts) {
                const error_code ec = co_await attempt.end();
                if (!ec)
                    winners.push_back(std::move(attempt.value()));
                else
                    CHECK(ec == errc::busy);
            }
            REQUIRE(winners.size() == 1);
            co_await until_only_left(server().port(), winners[0].node());
            co_await release(std::move(winners[0]));
        }
        co_await nothing_left(server().port());
        for (client& zk : sessions)
            must(co_await zk.close());
    });
}

TEST_CASE("two mutexes on one path in one session exclude each other, and so does one with itself")
{
    const std::string path = "/basics/same";
    play<1>({.clean = {path + "/below"}}, [&](client& zk) -> awaitable<void> {
        mutex one(zk, path), other(zk, path);
        CHECK(one.path() == path);
        guard first = must(co_await one.acquire());
        auto second = begin_acquire(other);
        auto third = begin_acquire(one);
        CHECK(error_in(co_await one.acquire(100ms)) == errc::timed_out);
        CHECK_FALSE(second.ended());
        const std::string node = first.node();
        co_await release(std::move(first));
        guard held = co_await granted(second);
        CHECK(held.node() != node);
        CHECK_FALSE(third.ended());
        co_await release(std::move(held));
        co_await take_turn(third);

        // Different paths do not concern each other, also where one is below the other.
        mutex below(zk, path + "/below");
        held = must(co_await one.acquire());
        const guard inner = must(co_await below.acquire(60s));
        CHECK(held);
        CHECK(inner);
        CHECK(error_in(co_await one.try_acquire()) == errc::busy);
    });
}

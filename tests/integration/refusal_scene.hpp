#pragma once
// What the tests of refusals have in common.
#include "integration/lock_scene.hpp"

namespace zklock::test {

/// Every operation of a mutex says the same.
inline awaitable<void> expect_refused(mutex lock, errc why)
{
    CHECK(error_in(co_await lock.acquire()) == why);
    CHECK(error_in(co_await lock.acquire(10s)) == why);
    CHECK(error_in(co_await lock.acquire(0s)) == why);
    CHECK(error_in(co_await lock.try_acquire()) == why);
    CHECK(error_in(co_await lock.contenders()) == why);
    bool ran = false;
    const auto body = [&ran](guard&) -> awaitable<void> {
        ran = true;
        co_return;
    };
    CHECK(error_in(co_await lock.run(body)) == why);
    CHECK(error_in(co_await lock.run(10s, body)) == why);
    CHECK_FALSE(ran);
}

/// The client works as before.
inline awaitable<void> expect_usable(const client& zk, const std::string& path)
{
    mutex lock(zk, path);
    guard held = must(co_await lock.acquire(60s));
    CHECK(held);
    co_await release(std::move(held));
}

} // namespace zklock::test

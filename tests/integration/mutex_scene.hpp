#pragma once
// What the tests of the mutex alone have in common: one server, and clients that go straight to it.
#include "integration/lock_scene.hpp"
#include "support/one_server.hpp"

#include <array>

namespace zklock::test {

inline client_options options()
{
    return fault_options(server().address(), milliseconds{30'000});
}

inline constexpr std::array cancellations{asio::cancellation_type::terminal, asio::cancellation_type::partial,
                                          asio::cancellation_type::total};

/// A node that holds the lock of the path, or queues for it, until the administrator deletes it.
inline std::string foreign_contender(admin_client& admin, const std::string& path)
{
    return admin.create(path + "/_c_00000000-0000-4000-8000-000000000000-lock-", {}, create_mode::ephemeral_sequential);
}

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

/// As good as new.
inline awaitable<void> expect_usable(const client& zk, const std::string& path)
{
    mutex lock(zk, path);
    guard held = must(co_await lock.acquire(60s));
    CHECK(held);
    co_await release(std::move(held));
}

} // namespace zklock::test

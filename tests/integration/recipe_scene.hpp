#pragma once
// What the tests of the recipes have in common: operations with a handler in the background, and requests that are
// counted.
#include "integration/lock_scene.hpp"

#include <boost/asio/redirect_error.hpp>

namespace zklock::test {

/// Creates that were asked for since the last look, alone or in batches.
[[nodiscard]] inline std::size_t creates(const proxy& link)
{
    std::size_t all = 0;
    for (const opcode op : {opcode::create, opcode::create2})
        all += link.count(op) + link.count_in_multis(op);
    return all;
}
[[nodiscard]] inline std::size_t removes(const proxy& link)
{
    return link.count(opcode::remove) + link.count_in_multis(opcode::remove);
}

/// A session's first contender brings a heartbeat along, for there is no lease yet. This one takes it.
inline awaitable<void> warm_up(remote_client& remote, std::string path)
{
    co_await remote.connect();
    mutex elsewhere(remote.zk, std::move(path));
    guard held = must(co_await elsewhere.acquire());
    co_await release(std::move(held));
    remote.link.forget();
}

/// Never ends by itself; says how it was ended.
inline awaitable<error_code> sleep_for_ever()
{
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(24));
    error_code ec;
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    co_return ec;
}

} // namespace zklock::test

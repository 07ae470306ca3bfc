#pragma once
// What the tests of the semaphore have in common.
#include "integration/recipe_scene.hpp"

#include <array>

namespace zklock::test {

inline pending<permits> begin(semaphore gate, std::size_t count)
{
    pending<permits> p;
    gate.permits_of(count).acquire(p.handler());
    return p;
}

inline pending<> begin_wait_lost(const permits& held)
{
    pending<> p;
    held.wait_lost(p.handler());
    return p;
}

inline awaitable<permits> granted(pending<permits> attempt)
{
    const error_code ec = co_await attempt.end();
    if (ec)
        throw std::runtime_error("no grant: " + ec.message());
    co_return std::move(attempt.value());
}

inline awaitable<void> release(permits held)
{
    must(co_await std::move(held).release());
}

/// Until the server holds no node of ours, and no watch of a client on the semaphore, while the clients are still
/// there.
inline awaitable<void> no_permit_left(std::uint16_t port, const std::string& path)
{
    const auto nothing = [port, &path] {
        if (ephemeral_count(port) != 0)
            return false;
        const auto all = watches(port);
        return std::none_of(all.begin(), all.end(), [&](const auto& watched) {
            const bool of_the_line = watched.first == path + "/locks" || watched.first == path + "-__lock__";
            return watched.first.starts_with(path) && !of_the_line; // on that, clients keep a watch for a while
        });
    };
    co_await until("no node and no watch of one is left", nothing);
}

/// Until the nodes of so many permits are there: those that are held, and those of the head of the line.
inline awaitable<void> until_permits(admin_client& admin, std::string path, std::size_t count)
{
    const std::string leases = path + "/leases";
    co_await until_queued(admin, leases, count);
}

} // namespace zklock::test

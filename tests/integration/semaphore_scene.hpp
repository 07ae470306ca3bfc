#pragma once
// What the tests of the semaphore have in common.
#include "integration/recipe_scene.hpp"

namespace zklock::test {

[[nodiscard]] inline pending<permits> begin(semaphore gate, std::size_t count, auto... limit)
{
    return begin_acquire<permits>(gate.permits_of(count), limit...);
}

/// Where a semaphore's line is, and where its permits are.
[[nodiscard]] inline std::vector<std::string> places_of(const std::string& path, naming names = naming::curator)
{
    return names == naming::kazoo ? std::vector{path + "-__lock__", path}
                                  : std::vector{path + "/locks", path + "/leases"};
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

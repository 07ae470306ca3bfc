#pragma once
#include <zklock/client.hpp>
#include <zklock/events.hpp>
#include <zklock/result.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace zklock::tool {

/// A contender, and what else is to be said of it.
struct listed {
    listed() = default;

    contender who;
    bool holds = false;
    bool permit = false; ///< of a semaphore; else it is a mutex's, or a reader's
    /// The fencing token of its hold, or of the one it waits for; 0 if its node had gone meanwhile, or it has none.
    std::int64_t token = 0;
};

/// What stands at a lock's path.
struct queue_listing {
    queue_listing() = default;

    std::string path;
    bool there = false;             ///< the path is
    bool semaphore = false;         ///< there is one
    std::vector<std::string> below; ///< children that are part of no lock at this path, but may be locks; in order
    std::vector<listed> all; ///< holders first, then those who wait, in their order; behind those of a mutex, permits

    /// Whether a mutex and a semaphore are in use at the path, which do not exclude each other.
    [[nodiscard]] bool of_both_kinds() const;
};

/// Reads it: two requests for each contender. A path with children `locks` and `leases` is a semaphore's; but others
/// may use it as a mutex all the same.
[[nodiscard]] boost::asio::awaitable<result<queue_listing>> list_queue(client zk, std::string path);

using system_time = std::chrono::system_clock::time_point;

/// For people: a table of fixed columns, or that there is nobody.
[[nodiscard]] std::string to_text(const queue_listing& listing, system_time now);
/// For programs.
[[nodiscard]] boost::json::object to_json(const queue_listing& listing, system_time now);

} // namespace zklock::tool

#pragma once
#include "runtime/client_store.hpp"
#include "store/scheduler.hpp"
#include "store/unique_function.hpp"
#include "zklock/client_options.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

// What zklock::testing needs of the library: where a client gets its store, and what time it is.

namespace zklock::runtime {

/// What a client gives a store in memory.
struct store_surroundings {
    client_options options;
    store::scheduler& scheduler; ///< for use on the client's strand
    /// Runs the function in a turn on the client's strand, later; from any thread. It keeps the executor in work.
    std::function<void(store::unique_function<void()>)> post;
    std::function<void()> count_request;
    /// The clock was moved: has the client, and timers of its execution context on the lease clock, look at what is
    /// due. On the strand.
    std::function<void()> look_again;
    /// When the client has something to do next, by the clock; the end of time if never. On the strand.
    std::function<lease_clock::time_point()> next_deadline;
};

/// Gives a client whose options name an ensemble in memory the store of that; null for any other.
using store_maker = std::shared_ptr<client_store> (*)(store_surroundings);

/// From now on, clients that are made ask it first. For a process that has no ensemble in memory, there is none.
void ask_for_stores(store_maker) noexcept;
[[nodiscard]] store_maker maker_of_stores() noexcept;

/// How many clients with a real connection there are in this process.
[[nodiscard]] std::size_t real_clients() noexcept;
/// One of them; counted as long as this lives.
class real_client {
public:
    real_client() noexcept;
    ~real_client();
    real_client& operator=(real_client&&) = delete;
};

/// Moves the lease clock of this process on. From any thread.
void move_lease_clock(std::chrono::nanoseconds by) noexcept;

} // namespace zklock::runtime

#pragma once
#include "zklock/detail/operations.hpp"

#include <cstddef>
#include <memory>
#include <utility>

// What the templates of semaphore.hpp call; see operations.hpp.

namespace zklock {
class permits;
}

namespace zklock::detail {

using permits_handler = handle_handler<permits>;

/// The same semaphore, for so many permits.
[[nodiscard]] std::shared_ptr<lock_state> permits_of(const std::shared_ptr<lock_state>&, std::size_t count);
void start_acquire(std::shared_ptr<lock_state>, acquire_mode, std::optional<lease_clock::duration> timeout,
                   permits_handler);
[[nodiscard]] std::size_t permit_count(const guard&) noexcept;
[[nodiscard]] std::shared_ptr<guard_state> state_of(const guard&) noexcept;
void start_partial_release(std::shared_ptr<guard_state>, std::size_t count, void_handler);
void start_split(std::shared_ptr<guard_state>, std::size_t count, permits_handler);

/// Of an operation on a part of the permits, which stay with their handle.
template <auto Start> class initiate_on_permits {
public:
    using executor_type = asio::any_io_executor;
    initiate_on_permits(const guard& held, std::size_t count) : held_(state_of(held)), count_(count) {}
    [[nodiscard]] executor_type get_executor() const { return executor_of(held_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        Start(std::move(held_), count_, std::forward<Handler>(handler));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        Start(held_, count_, std::forward<Handler>(handler));
    }

private:
    std::shared_ptr<guard_state> held_;
    std::size_t count_;
};
using initiate_partial_release = initiate_on_permits<start_partial_release>;
using initiate_split = initiate_on_permits<start_split>;

} // namespace zklock::detail

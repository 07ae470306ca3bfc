// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/operations.hpp"

#include <cstddef>
#include <memory>

// The start functions of the operations on semaphores and permits; see initiation.hpp.

namespace zklock {
class permits;
}

namespace zklock::detail {

using permits_handler = handle_handler<permits>;

/// The same semaphore, for `count` permits.
[[nodiscard]] std::shared_ptr<lock_state> permits_of(const std::shared_ptr<lock_state>&, std::size_t count);
[[nodiscard]] std::size_t permit_count(const std::shared_ptr<guard_state>&) noexcept;
// They work on a part of the permits, which stay with their handle.
void start_partial_release(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state>, std::size_t count,
                           void_handler);
void start_split(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state>, std::size_t count, permits_handler);

} // namespace zklock::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/access.hpp"
#include "zklock/detail/operations.hpp"

#include <memory>
#include <string>
#include <utility>

namespace zklock {

/// Any lock that can be acquired, whatever its recipe: what a `multi_lock` is made of. A `mutex` is one; other recipes
/// say how they are to be acquired: `reentrant_mutex::owned_by()`, for one.
///
/// It is a handle to shared state, cheap to copy, that keeps its client open. Thread safety: distinct objects: safe.
/// One object: its const member functions may be called from any threads.
class lockable {
public:
    /// The lock's path. The members of a `multi_lock` must have different ones. Never fails.
    [[nodiscard]] const std::string& path() const noexcept { return detail::path_of(state_); }

private:
    friend class detail::access;
    explicit lockable(std::shared_ptr<detail::lock_state> state) noexcept : state_(std::move(state)) {}

    std::shared_ptr<detail::lock_state> state_;
};

} // namespace zklock

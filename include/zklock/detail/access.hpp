// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>

namespace zklock::detail {

/// The one way for the library to what its public types keep to themselves.
class access {
public:
    /// The state that a handle refers to.
    template <class Handle> [[nodiscard]] static auto& state(Handle& handle) noexcept { return handle.state_; }

    /// A handle of that state.
    template <class Handle, class... State> [[nodiscard]] static Handle make(State&&... state)
    {
        return Handle(std::forward<State>(state)...);
    }

    /// The guard inside of a handle that has more to it.
    template <class Handle> [[nodiscard]] static const auto& guard_of(const Handle& handle) noexcept
    {
        return handle.held_;
    }

    /// Gives back what is held, also where the user is not to do so: a leadership ends with its body.
    template <class Handle> [[nodiscard]] static auto release(Handle& held) { return std::move(held).release(); }
};

} // namespace zklock::detail

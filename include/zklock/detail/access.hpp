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

    /// What a leader stands for election as.
    template <class Leadership> [[nodiscard]] static const auto& candidacy(const Leadership& held) noexcept
    {
        return held.candidacy_;
    }
};

} // namespace zklock::detail

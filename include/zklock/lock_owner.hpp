// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/standard.hpp"

#include <cstdint>

namespace zklock {

/// The owner of a re-entrant lock. It is an identity, because neither coroutines nor threads have one that could serve.
/// The default constructor makes a new owner each time; a copy is the same owner. Give a copy to all who act on its
/// behalf.
///
/// An owner is known within this process only. It is trivially copyable, and as thread safe as an integer.
class lock_owner {
public:
    /// Makes a new owner. May be called from any thread. @throws nothing.
    lock_owner() noexcept;

    /// The owner's id, which no other owner of this process has; never 0.
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

    /// Whether both are the same owner.
    friend bool operator==(lock_owner, lock_owner) noexcept = default;

private:
    std::uint64_t id_;
};

} // namespace zklock

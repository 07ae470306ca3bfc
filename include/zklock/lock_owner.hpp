#pragma once
#include <cstdint>

namespace zklock {

/// Whoever owns a re-entrant lock: an identity, for coroutines and threads have none that could serve. Each one made by
/// the default constructor is another owner; copies are the same owner. Give a copy to all who act on its behalf.
///
/// An owner is known within this process only. Trivially copyable; thread safety: as an integer.
class lock_owner {
public:
    /// A new owner. From any thread. @throws nothing.
    lock_owner() noexcept;

    /// A number that no other owner of this process has; never 0.
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

    friend bool operator==(lock_owner, lock_owner) noexcept = default;

private:
    std::uint64_t id_;
};

} // namespace zklock

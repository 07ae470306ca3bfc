#pragma once
#include "store/store.hpp"
#include "zklock/mutex_options.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::recipes {

/// Where a semaphore keeps what, so that programs of other clients can share it.
struct semaphore_layout {
    /// Curator's `InterProcessSemaphoreV2`: `<path>/locks` and `<path>/leases/_c_<uuid>-lease-<number>`; or kazoo's
    /// `Semaphore`: `<path>-__lock__` and `<path>/<uuid>`.
    semaphore_layout(const std::string& path, naming);

    std::string line;   ///< path of the lock in whose queue the waiting line stands
    std::string leases; ///< the leases' parent: each child is a permit in use
    naming names;

    [[nodiscard]] store::node_kind kind() const noexcept;
    /// What to create; with a number at its end once it is made, by Curator's layout.
    [[nodiscard]] std::string lease_name(std::string_view uuid) const;
    /// Whether the child is what was asked for by that name.
    [[nodiscard]] bool made_from(std::string_view asked, std::string_view child) const noexcept;
    [[nodiscard]] std::size_t longest_name() const;
};

/// A shared count, as its node's data: four bytes, the most significant first.
[[nodiscard]] std::string count_data(std::int32_t);
[[nodiscard]] std::optional<std::int32_t> count_of(std::string_view data) noexcept;

} // namespace zklock::recipes

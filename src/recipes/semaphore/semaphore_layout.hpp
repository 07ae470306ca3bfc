#pragma once
#include "store/store.hpp"
#include "zklock/lock_options.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

/// Where a semaphore has its nodes, so that programs that use other client libraries can share it.
struct semaphore_layout {
    /// The layout of Curator's `InterProcessSemaphoreV2`, which calls a permit in use a lease: `<path>/locks` and
    /// `<path>/leases/_c_<uuid>-lease-<number>`; or that of kazoo's `Semaphore`: `<path>-__lock__` and `<path>/<uuid>`.
    semaphore_layout(const std::string& path, naming);

    std::string line;    ///< path of the lock in whose queue the waiting line stands
    std::string permits; ///< path whose children are the nodes of the permits in use
    naming names;

    /// The options with which an acquire of the semaphore takes its place in the line.
    [[nodiscard]] mutex_options options_of_line(const semaphore_options&) const;
    [[nodiscard]] store::node_kind kind() const noexcept;
    /// What to ask for when a permit's node is created. In Curator's layout the servers put a number behind it.
    [[nodiscard]] std::string node_name(std::string_view uuid) const;
    /// Whether the child was created by asking for that name.
    [[nodiscard]] bool made_from(std::string_view asked, std::string_view child) const noexcept;
    [[nodiscard]] std::size_t longest_name() const;
};

/// The permit that came first, as far as the numbers in the names tell; empty if there is none.
[[nodiscard]] std::string first_permit(const std::vector<std::string>& permits);
/// The digits at the end of a permit's name that count.
[[nodiscard]] std::string_view digits_of(std::string_view permit);
/// A decimal number and nothing else.
[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view text);

/// A shared count, as its node's data: four bytes, the most significant first.
[[nodiscard]] std::string count_data(std::int32_t);
[[nodiscard]] std::optional<std::int32_t> count_of(std::string_view data) noexcept;

} // namespace zklock::recipes

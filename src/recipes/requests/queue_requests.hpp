#pragma once
#include "queue/node_name.hpp"
#include "recipes/session/session.hpp"
#include "zklock/events.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What users ask about those who queue, of this client and others. Each waits for a connection, and in the client's
// line.

namespace zklock::recipes {

/// How the children of a path are listed: as the queue of a lock, or as the permits of a semaphore.
struct list_kind {
    bool of_permits = false;         ///< all children: each stands for a permit in use
    zklock::queue::name_rules rules; ///< else: how contenders are named

    /// Whether the child is listed, and as what.
    [[nodiscard]] std::optional<zklock::queue::contender_name> read(std::string_view child) const noexcept;
    /// The names of those children that hold the lock, or a permit.
    [[nodiscard]] std::vector<std::string> holders(const std::vector<std::string>& children) const
    {
        return of_permits ? children : rules.holders_of(children);
    }
    /// The order of the list.
    [[nodiscard]] bool before(const contender&, const contender&) const;

    /// The contenders of a lock, by their numbers.
    static const list_kind queue;
    [[nodiscard]] static list_kind queue_named(zklock::queue::name_rules names) { return {false, std::move(names)}; }
    static const list_kind permits;
};

/// The number at the end of the name of a permit's node; 0 for one that has none.
[[nodiscard]] std::int32_t permit_sequence(std::string_view child) noexcept;

inline constexpr std::size_t all_contenders = std::numeric_limits<std::size_t>::max();

/// Reads the queue of a path, in its order; or its first contenders, so many at most.
std::shared_ptr<user_request> list_contenders(session&, const std::string& path,
                                              std::function<void(error_code, std::vector<contender>)>,
                                              const list_kind& = list_kind::queue, std::size_t most = all_contenders);
/// Asks the contender of `node` on that path, of whatever client, to let go of the lock; the answer is 0 if it is gone.
/// Nobody is forced. It ends with `errc::invalid_path` if the node is not one of those that such a list names.
std::shared_ptr<user_request> revoke(session&, const std::string& path, const std::string& node,
                                     std::function<void(error_code, std::size_t)>, const list_kind& = list_kind::queue);
/// Asks all who hold the lock of a path to let go, as of one look at its children: one, or all readers, or all who have
/// permits. The answer is how many nodes were asked: those that were still there.
std::shared_ptr<user_request> revoke_holders(session&, const std::string& path,
                                             std::function<void(error_code, std::size_t)>,
                                             const list_kind& = list_kind::queue);

} // namespace zklock::recipes

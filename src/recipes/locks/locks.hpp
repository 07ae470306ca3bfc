#pragma once
#include "queue/lock_queue.hpp"
#include "recipes/acquisition/acquisition.hpp"
#include "recipes/locks/lock_path.hpp"
#include "recipes/session/recipe_paths.hpp"
#include "recipes/session/session.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace zklock::recipes {

/// The locks of one client: a lock_path for each path in use. The session has the same strand, and outlives them.
class locks {
public:
    explicit locks(recipes::session& s) : session_(s), paths_(s) {}
    ~locks() { session_.stop_sending(); } ///< with them the session goes: nothing is sent any more
    locks& operator=(locks&&) = delete;

    /// Queues for the lock of a path. Errors come through `request.done` too, later.
    std::shared_ptr<acquisition> acquire(acquire_request&& request);

    // --- for the recipes that are made of locks ----------------------------------------------------------------------

    [[nodiscard]] recipes::session& session() const noexcept { return session_; }
    /// Tells why acquire() would fail at once with such a request, if it would. Faults of options are logged.
    [[nodiscard]] std::optional<errc> check(const std::string& path, const mutex_options&) const;
    /// A new id, for the listener of an acquire that is made of others.
    [[nodiscard]] std::uint64_t new_id() noexcept { return ++last_contender_; }
    /// The containers above the path that were made for it.
    [[nodiscard]] made_containers containers_above(const std::string& path) const;
    /// This client has set the data of the node so many levels above the path.
    void written_above(const std::string& path, std::size_t level, const store::node_stat&) noexcept;

private:
    recipes::session& session_;
    queue::contender_id last_contender_ = 0;
    recipe_paths<lock_path> paths_;
};

} // namespace zklock::recipes

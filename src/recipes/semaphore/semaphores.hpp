#pragma once
#include "recipes/locks/locks.hpp"
#include "recipes/semaphore/semaphore_acquisition.hpp"
#include "recipes/semaphore/semaphore_path.hpp"
#include "recipes/session/recipe_paths.hpp"

#include <memory>
#include <optional>

namespace zklock::recipes {

/// The semaphores of one client: a semaphore_path for each path in use. The locks have the same strand, and outlive
/// them.
class semaphores {
public:
    explicit semaphores(locks& l) : locks_(l), paths_(l.session()) {}
    semaphores& operator=(semaphores&&) = delete;

    /// Waits for some permits. Errors come through `request.done` too, later.
    std::shared_ptr<semaphore_acquisition> acquire(permits_request request);

private:
    /// Tells why acquire() would fail at once, as locks::check() does.
    [[nodiscard]] std::optional<errc> check(const permits_request&) const;

    locks& locks_;
    recipe_paths<semaphore_path> paths_;
};

} // namespace zklock::recipes

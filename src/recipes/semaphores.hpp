#pragma once
#include "recipes/resting_member.hpp"
#include "recipes/semaphore_acquisition.hpp"
#include "recipes/semaphore_path.hpp"
#include "recipes/session.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zklock::recipes {

/// The semaphores of one client. Same strand and lifetime as the session.
class semaphores {
public:
    explicit semaphores(session& s);
    semaphores(const semaphores&) = delete;
    semaphores& operator=(const semaphores&) = delete;

    /// Waits for some permits. Errors come through `request.done` too, later.
    std::shared_ptr<semaphore_acquisition> acquire(permits_request request);

private:
    [[nodiscard]] std::optional<errc> objection(const permits_request&) const;
    semaphore_path* path_for(const permits_request&);
    void path_rests(const std::string& path);

    session& session_;
    resting_members resting_; ///< idle ones, kept for what they have seen
    std::map<std::string, std::unique_ptr<semaphore_path>> paths_;
    /// Replaced by ones that have their nodes elsewhere, until the containers that they have made are gone.
    std::vector<std::unique_ptr<semaphore_path>> leaving_;
};

} // namespace zklock::recipes

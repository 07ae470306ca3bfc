#pragma once
#include "recipes/locks/path_part.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace zklock::recipes {

/// What a lock_queue asks the servers: of its path's own node, of the children, and of single nodes. Each answer goes
/// to the queue.
class lock_requests final : private path_part {
public:
    explicit lock_requests(const path_part& part) : path_part(part) {}

    void read(bool watch);
    void watch_parent();
    void remove_parent();
    void inspect(const contender_ptr&, const std::string& node);
    void watch(const std::string& node);
    void unwatch(const std::string& node);
    /// `data` and `version` are those of the writer's `node`.
    void downgrade(const contender_ptr&, const std::string& node, std::string_view data, std::int32_t version);

    /// By the last list, the children had changed so; 0: there was no parent.
    [[nodiscard]] std::int64_t listed() const noexcept { return listed_; }

private:
    void downgrade_as_found(const contender_ptr&, const std::string& node);
    void downgrade_lost(queue::contender_id, const std::string& node);
    void found_downgraded(queue::contender_id, const std::string& node);
    void look_for_downgraded(const contender_ptr&, const std::string& node, errc refused);
    void look_at_data(const std::string& node, std::string_view data);

    std::int64_t listed_ = 0;
};

} // namespace zklock::recipes

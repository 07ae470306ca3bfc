#pragma once
#include "queue/lock_queue.hpp"
#include "recipes/locks/lock_contender.hpp"

#include <memory>
#include <unordered_map>
#include <utility>

namespace zklock::recipes {

/// The contenders of a path by their ids. The one that was looked for last is remembered beside the table: most paths
/// have a single one, whose steps need no search then, nor the memory that a search reads. What the last that was
/// erased has taken serves the next.
class contender_table {
public:
    using contender_ptr = std::shared_ptr<lock_contender>;

    void insert(const contender_ptr& c)
    {
        if (!spare_)
            return remember(&*all_.emplace(c->id, c).first);
        spare_.key() = c->id;
        spare_.mapped() = c;
        remember(&*all_.insert(std::move(spare_)).position);
    }
    void erase(queue::contender_id id)
    {
        last_ = nullptr;
        spare_ = all_.extract(id);
        if (spare_)
            spare_.mapped().reset();
    }
    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
    [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
    [[nodiscard]] auto end() const noexcept { return all_.end(); }

    /// Null if there is none. What it points to is there until the contender is erased.
    [[nodiscard]] const contender_ptr* find(queue::contender_id id)
    {
        if (last_ && last_id_ == id)
            return &last_->second;
        const auto found = all_.find(id);
        if (found == all_.end())
            return nullptr;
        remember(&*found);
        return &last_->second;
    }
    /// Throws std::out_of_range if there is none.
    [[nodiscard]] const contender_ptr& at(queue::contender_id id)
    {
        const contender_ptr* const found = find(id);
        return found ? *found : all_.at(id);
    }

private:
    using table = std::unordered_map<queue::contender_id, contender_ptr>;

    void remember(const table::value_type* found) noexcept
    {
        last_ = found;
        last_id_ = found->first;
    }

    table all_;
    table::node_type spare_;
    queue::contender_id last_id_ = 0; ///< of the last, if there is one
    const table::value_type* last_ = nullptr;
};

} // namespace zklock::recipes

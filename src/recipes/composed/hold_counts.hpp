#pragma once
#include "recipes/acquisition/acquisition.hpp"
#include "store/scheduler.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace zklock::recipes {

/// Names one who may hold a re-entrant lock several times over. 0 names nobody.
using owner_id = std::uint64_t;

/// How often each owner holds each lock, and whether it still does, for whoever asks, from any thread.
class hold_counts {
public:
    using key = std::pair<std::string, owner_id>;

    [[nodiscard]] std::size_t of(const std::string& path, owner_id owner) const
    {
        const std::lock_guard lock(mutex_);
        const auto found = counts_.find({path, owner});
        return found == counts_.end() ? 0 : found->second.holds;
    }
    /// The same, but none once the lock is lost.
    [[nodiscard]] std::size_t held(const std::string& path, owner_id owner, store::scheduler::time_point now) const
    {
        const std::lock_guard lock(mutex_);
        const auto found = counts_.find({path, owner});
        return found == counts_.end() ? 0 : found->second.held(now);
    }
    /// Of all owners together.
    [[nodiscard]] std::size_t held(const std::string& path, store::scheduler::time_point now) const
    {
        const std::lock_guard lock(mutex_);
        std::size_t all = 0;
        auto each = counts_.lower_bound({path, owner_id{0}});
        for (; each != counts_.end() && each->first.first == path; ++each)
            all += each->second.held(now);
        return all;
    }
    /// Makes room for a count, 0 at first, so that set() cannot fail. Nothing happens if there is room.
    void open(const key& who)
    {
        const std::lock_guard lock(mutex_);
        counts_.try_emplace(who);
    }
    /// So many holds of what that acquisition holds; it is kept until there are none.
    void set(const key& who, std::size_t holds, std::shared_ptr<const acquisition> what) noexcept
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = counts_.find(who); found != counts_.end())
            found->second = {holds, std::move(what)};
    }
    void close(const key& who) noexcept
    {
        const std::lock_guard lock(mutex_);
        counts_.erase(who);
    }

private:
    struct entry {
        std::size_t holds = 0;
        std::shared_ptr<const acquisition> what;

        [[nodiscard]] std::size_t held(store::scheduler::time_point now) const noexcept
        {
            return what && what->held(now) ? holds : 0;
        }
    };

    mutable std::mutex mutex_;
    std::map<key, entry> counts_;
};

} // namespace zklock::recipes

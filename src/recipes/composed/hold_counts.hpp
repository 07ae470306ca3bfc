#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace zklock::recipes {

/// Whoever may hold a re-entrant lock several times over. 0 names nobody.
using owner_id = std::uint64_t;

/// How often each owner holds each lock, for whoever asks, from any thread.
class hold_counts {
public:
    [[nodiscard]] std::size_t of(const std::string& path, owner_id owner) const
    {
        const std::lock_guard lock(mutex_);
        const auto found = counts_.find({path, owner});
        return found == counts_.end() ? 0 : found->second;
    }
    void set(const std::string& path, owner_id owner, std::size_t count)
    {
        const std::lock_guard lock(mutex_);
        if (count == 0)
            counts_.erase({path, owner});
        else
            counts_[{path, owner}] = count;
    }

private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::string, owner_id>, std::size_t> counts_;
};

} // namespace zklock::recipes

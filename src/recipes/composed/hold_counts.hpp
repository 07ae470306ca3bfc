#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace zklock::recipes {

/// Names one who may hold a re-entrant lock several times over. 0 names nobody.
using owner_id = std::uint64_t;

/// How often each owner holds each lock, for whoever asks, from any thread.
class hold_counts {
public:
    using key = std::pair<std::string, owner_id>;

    [[nodiscard]] std::size_t of(const std::string& path, owner_id owner) const
    {
        const std::lock_guard lock(mutex_);
        const auto found = counts_.find({path, owner});
        return found == counts_.end() ? 0 : found->second;
    }
    /// Makes room for a count, 0 at first, so that set() cannot fail. Nothing happens if there is room.
    void open(const key& who)
    {
        const std::lock_guard lock(mutex_);
        counts_.try_emplace(who, 0);
    }
    void set(const key& who, std::size_t count) noexcept
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = counts_.find(who); found != counts_.end())
            found->second = count;
    }
    void close(const key& who) noexcept
    {
        const std::lock_guard lock(mutex_);
        counts_.erase(who);
    }

private:
    mutable std::mutex mutex_;
    std::map<key, std::size_t> counts_;
};

} // namespace zklock::recipes

#pragma once
#include "recipes/acquisition/acquisition.hpp"
#include "store/process_mutex.hpp"
#include "store/scheduler.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

namespace zklock::recipes {

/// Names one who may hold a re-entrant lock several times over. 0 names nobody.
using owner_id = std::uint64_t;

/// How many holds one owner has.
struct hold_count {
    std::size_t alone = 0;  ///< of a mutex, or as a writer
    std::size_t shared = 0; ///< as a reader
};

/// How often each owner holds each lock, and whether it still does, for anybody who asks, from any thread. In a
/// process that was forked off since the first grant there are none, and nothing is changed.
class hold_counts {
public:
    using key = std::pair<std::string, owner_id>;

    explicit hold_counts(store::process_mutex::fork_count forks = nullptr) noexcept : mutex_(forks) {}

    [[nodiscard]] hold_count of(const std::string& path, owner_id owner) const noexcept
    {
        return entry_of(path, owner).holds;
    }
    /// The holds that of() gives, but none once the lock is lost.
    [[nodiscard]] hold_count held(const std::string& path, owner_id owner,
                                  store::scheduler::time_point now) const noexcept
    {
        return entry_of(path, owner).held(now);
    }
    /// The holds of all owners together, but for those whose lock is lost.
    [[nodiscard]] hold_count held(const std::string& path, store::scheduler::time_point now) const noexcept
    {
        hold_count all;
        if (!mutex_.is_ours())
            return all;
        const std::lock_guard lock(mutex_);
        auto each = counts_.lower_bound(asked(path, 0));
        for (; each != counts_.end() && each->first.first == path; ++each) {
            const hold_count own = each->second.held(now);
            all.alone += own.alone;
            all.shared += own.shared;
        }
        return all;
    }
    /// The owner has so many holds of what that acquisition holds, which is kept until there are none: then it is null.
    void set(const key& who, hold_count holds, std::shared_ptr<const acquisition> what)
    {
        if (what)
            mutex_.claim();
        else if (!mutex_.is_ours())
            return;
        const std::lock_guard lock(mutex_);
        if (what)
            counts_[who] = {holds, std::move(what)};
        else
            counts_.erase(who);
    }

private:
    struct entry {
        hold_count holds;
        std::shared_ptr<const acquisition> what;

        [[nodiscard]] hold_count held(store::scheduler::time_point now) const noexcept
        {
            return what && what->held(now) ? holds : hold_count();
        }
    };

    [[nodiscard]] entry entry_of(const std::string& path, owner_id owner) const noexcept
    {
        if (!mutex_.is_ours())
            return {};
        const std::lock_guard lock(mutex_);
        const auto found = counts_.find(asked(path, owner));
        return found == counts_.end() ? entry() : found->second;
    }

    /// A key that is only looked for: who asks needs no memory.
    using asked = std::pair<const std::string&, owner_id>;
    struct in_order {
        using is_transparent = void;
        template <class One, class Other> bool operator()(const One& a, const Other& b) const noexcept
        {
            return std::tie(a.first, a.second) < std::tie(b.first, b.second);
        }
    };

    mutable store::process_mutex mutex_;
    std::map<key, entry, in_order> counts_;
};

} // namespace zklock::recipes

#pragma once
#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace zklock::detail {

/// Which options hold for a path as long as somebody claims it. Claims may be dropped on any thread; all else is for
/// one thread at a time. At most about twice as many paths are kept as were claimed at the same time.
template <class Options> class agreed_options {
public:
    /// Shared by all who agree. The path is free for other options when the last of them has dropped it.
    using claim = std::shared_ptr<const Options>;

    agreed_options() = default;
    agreed_options(const agreed_options&) = delete;
    agreed_options& operator=(const agreed_options&) = delete;

    /// What holds for the path: what others claim, or else `wanted`, claimed for the caller.
    [[nodiscard]] claim claim_path(const std::string& path, const Options& wanted)
    {
        forget_some();
        const auto found = by_path_.find(path);
        if (found != by_path_.end())
            if (auto theirs = found->second->options.lock())
                return theirs;
        auto own = std::make_shared<const Options>(wanted);
        if (found != by_path_.end()) {
            found->second->options = own;
            return own;
        }
        entries fresh;
        fresh.push_back({path, own});
        by_path_.emplace(fresh.front().path, fresh.begin());
        entries_.splice(entries_.end(), fresh);
        return own;
    }

    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

private:
    struct entry {
        std::string path;
        std::weak_ptr<const Options> options;
    };
    using entries = std::list<entry>;

    /// Looks at the two paths that were not looked at for the longest time: more than one call can add.
    void forget_some() noexcept
    {
        for (int looks = 0; looks < 2 && !entries_.empty(); ++looks) {
            if (entries_.front().options.expired()) {
                by_path_.erase(entries_.front().path);
                entries_.pop_front();
            } else {
                entries_.splice(entries_.end(), entries_, entries_.begin());
            }
        }
    }

    entries entries_; ///< those that were looked at last are the last
    std::unordered_map<std::string_view, typename entries::iterator> by_path_; ///< the texts are in the entries
};

} // namespace zklock::detail

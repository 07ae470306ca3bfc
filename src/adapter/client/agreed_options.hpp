#pragma once
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <string>

namespace zklock::detail {

/// Which options hold for a path as long as somebody claims it. Claims may be dropped on any thread; all else is for
/// one thread at a time. At most about twice as many paths are kept as were claimed at the same time.
template <class Options> class agreed_options {
public:
    /// Shared by all who agree. The path is free for other options when the last of them has dropped it.
    using claim = std::shared_ptr<const Options>;

    agreed_options& operator=(agreed_options&&) = delete;

    /// What holds for the path: what others claim, or else `wanted`, claimed for the caller.
    [[nodiscard]] claim claim_path(const std::string& path, const Options& wanted)
    {
        forget_some();
        auto& known = by_path_[path];
        auto claimed = known.lock();
        if (!claimed)
            known = claimed = std::make_shared<const Options>(wanted);
        return claimed;
    }

    [[nodiscard]] std::size_t size() const noexcept { return by_path_.size(); }

private:
    /// Goes round the paths, and looks at two: more than one call can add.
    void forget_some() noexcept
    {
        for (int looks = 0; looks < 2 && !by_path_.empty(); ++looks) {
            if (next_look_ == by_path_.end())
                next_look_ = by_path_.begin();
            next_look_ = next_look_->second.expired() ? by_path_.erase(next_look_) : std::next(next_look_);
        }
    }

    using paths = std::map<std::string, std::weak_ptr<const Options>>;
    paths by_path_;
    typename paths::iterator next_look_ = by_path_.end();
};

} // namespace zklock::detail

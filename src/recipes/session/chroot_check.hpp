#pragma once
#include "store/scheduler.hpp"
#include "store/store.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace zklock::recipes {

/// Names may lead to another ensemble, where the client's session is not known and is called over. By its chroot's node
/// a client can tell: another ensemble made its own at another time. Where a new session finds another node than the
/// one before, nothing is granted before that one should be over by the clock.
class chroot_check {
public:
    using time_point = store::scheduler::time_point;

    /// A new session is there; the one before should be over at that time.
    void session_began(time_point before_is_over) noexcept
    {
        due_ = true;
        before_is_over_ = before_is_over;
    }
    /// The node has to be looked at.
    [[nodiscard]] bool due() const noexcept { return due_; }
    /// There is something to compare it with.
    [[nodiscard]] bool known() const noexcept { return known_.has_value(); }
    /// It was looked at. Whether it is another one.
    [[nodiscard]] bool is_another(const store::stat_reply& seen)
    {
        if (seen.result == store::outcome::unknown)
            return false; // to be looked at on the next connection
        due_ = false;
        const mark is{seen.stat.czxid, seen.stat.created};
        const bool shown = seen.result == store::outcome::ok || seen.result == store::outcome::no_node;
        const bool another = shown && known_ && *known_ != is;
        if (shown)
            known_ = is;
        if (another)
            not_before_ = std::max(not_before_, before_is_over_);
        return another;
    }
    /// When something may be granted.
    [[nodiscard]] time_point not_before() const noexcept { return not_before_; }

private:
    using mark = std::pair<std::int64_t, std::chrono::system_clock::time_point>; // of no node, where there is none
    std::optional<mark> known_;
    time_point before_is_over_{};
    time_point not_before_{};
    bool due_ = false;
};

} // namespace zklock::recipes

#pragma once
#include "zklock/events.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::store {

/// Decides when a line that comes again and again is said: at once, and then at distances that double, up to ten
/// minutes. When it has not come for a minute, or for as long as that distance, it begins anew.
class repeats {
public:
    using time_point = lease_clock::time_point;

    /// How often it was left out since it was said last; nothing if it is to be left out now, too.
    [[nodiscard]] std::optional<std::uint64_t> say(time_point now) noexcept
    {
        if (now < next_) {
            ++left_out_;
            return std::nullopt;
        }
        const bool anew = now - next_ > std::max<lease_clock::duration>(distance_, std::chrono::minutes(1));
        distance_ = anew ? first : std::min(2 * distance_, longest);
        next_ = now + distance_;
        return std::exchange(left_out_, 0);
    }
    /// When it may be said next.
    [[nodiscard]] time_point next() const noexcept { return next_; }

private:
    static constexpr lease_clock::duration first = std::chrono::seconds(1);
    static constexpr lease_clock::duration longest = std::chrono::minutes(10);

    time_point next_{};
    lease_clock::duration distance_ = first / 2;
    std::uint64_t left_out_ = 0;
};

/// Decides so for several lines, each known by a key: its text, or what it is about. It remembers 64; for one more, it
/// forgets the one that could be said first.
class repeats_by_key {
public:
    /// What repeats::say() says of that line.
    [[nodiscard]] std::optional<std::uint64_t> say(std::string_view key, repeats::time_point now)
    {
        constexpr std::size_t most_remembered = 64;
        if (const auto known = said_.find(key); known != said_.end())
            return known->second.say(now);
        if (said_.size() == most_remembered)
            said_.erase(std::ranges::min_element(said_, {}, [](const auto& one) { return one.second.next(); }));
        return said_[std::string(key)].say(now);
    }

private:
    std::map<std::string, repeats, std::less<>> said_;
};

} // namespace zklock::store

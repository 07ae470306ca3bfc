#pragma once
#include "zklock/client_options.hpp"

#include <algorithm>
#include <mutex>

namespace zklock::test {

/// What clients log: `options.log = log`. Copies share it.
class kept_log {
public:
    void operator()(log_level level, std::string_view text) const
    {
        const std::lock_guard lock(kept_->guards);
        kept_->lines.emplace_back(level, text);
    }
    /// Of that level, with that in them; without slow turns, which come at any time on a loaded machine.
    [[nodiscard]] std::vector<std::string> lines(log_level level, std::string_view text = {}) const
    {
        const std::lock_guard lock(kept_->guards);
        std::vector<std::string> found;
        for (const auto& [its_level, line] : kept_->lines)
            if (its_level == level && line.find(text) != line.npos && line.find(slow_turn) == line.npos)
                found.push_back(line);
        return found;
    }
    [[nodiscard]] std::size_t count(log_level level, std::string_view text = {}) const
    {
        return lines(level, text).size();
    }
    [[nodiscard]] bool has(std::string_view text) const
    {
        const std::lock_guard lock(kept_->guards);
        return std::ranges::any_of(kept_->lines,
                                   [&](const auto& each) { return each.second.find(text) != std::string::npos; });
    }
    /// All of it, a line each, with the levels.
    [[nodiscard]] std::string text() const
    {
        const std::lock_guard lock(kept_->guards);
        std::string all;
        for (const auto& [level, line] : kept_->lines)
            all.append(to_string(level)).append(" ").append(line).append("\n");
        return all;
    }

    static constexpr std::string_view slow_turn = "a turn of the client began ";

private:
    struct kept {
        std::mutex guards;
        std::vector<std::pair<log_level, std::string>> lines;
    };
    std::shared_ptr<kept> kept_ = std::make_shared<kept>();
};

} // namespace zklock::test

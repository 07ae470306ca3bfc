#pragma once
#include "event_queue.hpp"

#include <cstdio>
#include <string>
#include <string_view>

namespace zklock::simulator {

/// What happened in one schedule, one line each, when somebody wants to read it.
class trace {
public:
    explicit trace(bool wanted) : wanted_(wanted) {}

    /// Ask before building an expensive line.
    [[nodiscard]] bool on() const noexcept { return wanted_; }

    void line(instant when, std::string_view who, std::string_view what)
    {
        if (!wanted_)
            return;
        char head[48];
        const auto us = std::chrono::duration_cast<std::chrono::microseconds>(when).count();
        std::snprintf(head, sizeof head, "%6lld.%06lld  %-9.*s ", static_cast<long long>(us / 1'000'000),
                      static_cast<long long>(us % 1'000'000), static_cast<int>(who.size()), who.data());
        text_ += head;
        text_ += what;
        text_ += '\n';
    }

    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    bool wanted_;
    std::string text_;
};

} // namespace zklock::simulator

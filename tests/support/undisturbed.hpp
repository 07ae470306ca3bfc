#pragma once
#include "support/polling.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace zklock::test {

/// Thrown by a scene that could not be set up as it was meant, because the machine was too slow for it.
class premise_failed : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

inline void premise(bool holds, const char* what)
{
    if (!holds)
        throw premise_failed(what);
}

/// Where a scene notes what did not happen in time, or not in the order that only clocks decide.
class timed_scene {
public:
    void expect(bool holds, std::string what)
    {
        if (!holds)
            complaints_.push_back(std::move(what));
    }
    [[nodiscard]] const std::vector<std::string>& complaints() const noexcept { return complaints_; }

private:
    std::vector<std::string> complaints_;
};

/// Plays a scene whose outcome says something only while this process is allowed to run: what it noted or threw does
/// not count, and it starts over, when the process stood still for longer than `tolerable` in the meantime, or when its
/// premise failed. After five such attempts it counts all the same. Gives what is wrong, a line each; empty if nothing.
[[nodiscard]] std::string play_undisturbed(milliseconds tolerable, const std::function<void(timed_scene&)>& scene);

} // namespace zklock::test

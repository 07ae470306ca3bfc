#pragma once
#include "tool/program/voice.hpp"
#include "tool/run/wanted_lock.hpp"

#include <zklock/events.hpp>

#include <memory>
#include <string>
#include <vector>

namespace zklock::tool {

/// Shows how an acquire stands: its place in the queue, and who holds the lock. It reads the queue, and a long one more
/// rarely: it spends a twentieth of the time on that.
class progress : public std::enable_shared_from_this<progress> {
public:
    progress(wanted_lock lock, std::string path, voice& out) : lock_(std::move(lock)), path_(std::move(path)), out_(out)
    {
    }

    /// Looks, if it is time to, and shows what it has found.
    void look();
    void end() { ended_ = true; }

private:
    void show(const std::vector<contender>& holders, const std::vector<contender>& queue);

    wanted_lock lock_;
    const std::string path_;
    voice& out_;
    bool looking_ = false;
    bool ended_ = false;
    lease_clock::time_point next_look_{};
};

} // namespace zklock::tool

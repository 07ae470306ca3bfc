#pragma once
#include "ensemble.hpp"
#include "plan.hpp"

namespace zklock::simulator {

/// That no herd forms: whoever waits watches the last two nodes of others before its own, so a release wakes one. Only
/// in calm schedules is it known how long watches that are not needed any more may stay.
class herd_checker {
public:
    herd_checker(world& w, const ensemble& e, const plan& p);

    /// To be called again and again; while it has found something, after each event, because only then is it known that
    /// it was so all the time.
    void check();
    [[nodiscard]] bool has_found_something() const noexcept { return !excess_.empty(); }

    /// Whether the watch of a session on a node may be that of a user who waits for just this node, or has: that does
    /// not count, for users may wait for any nodes, as many as they like, and each of them wants to hear of his.
    std::function<bool(std::int64_t session, const std::string& path)> users_watch;

private:
    /// Two may watch, or be watched.
    void count(const std::string& what, std::size_t many);

    world& world_;
    const ensemble& ensemble_;
    const instant patience_;
    const bool calm_;
    const bool scarce_;
    std::map<std::string, instant> excess_; ///< what is watched too much, and since when
    std::map<std::string, instant> before_; ///< likewise, the last time
};

} // namespace zklock::simulator

#pragma once
#include "ensemble.hpp"
#include "plan.hpp"

namespace zklock::simulator {

/// That nobody goes on asking for numbers where they are scarce: a client that has got one knows. Only in calm
/// schedules is it known when.
class numbers_checker {
public:
    numbers_checker(world& w, const ensemble& e, const plan& p);

    /// The children of a path; to be called again and again.
    void check(const std::string& path);

private:
    struct scarce_number {
        std::int64_t parent = 0; ///< its czxid
        std::int64_t highest = 0;
        instant first{0}; ///< when the first was made, by the leader's clock
        instant last{0};
    };

    world& world_;
    const ensemble& ensemble_;
    const bool active_;
    std::map<std::pair<std::int64_t, std::string>, scarce_number> seen_; ///< by session and path
};

} // namespace zklock::simulator

#pragma once
#include "plan.hpp"

namespace zklock::simulator {

/// What a schedule is mostly about. Too many kinds of trouble at once hide each other.
enum class theme { calm, network, expiry, servers, administrator, others, everything, count };

/// Draws a schedule. What came later than the seeds that are known to have found something is drawn apart, from a
/// stream of its own: so those seeds go on meaning what they did.
class planner {
public:
    planner(std::uint64_t seed, kind_of_plan kind);
    plan make();

private:
    using microseconds = std::chrono::microseconds;

    std::uint64_t draw(std::uint64_t limit) { return choose_.below(limit, choices::stream::plan); }
    bool one_in(std::uint64_t n) { return draw(n) == 0; }
    bool about(theme t) const { return theme_ == t || theme_ == theme::everything; }

    // the servers, the clients and their options (plan_settings.cpp)
    void make_settings();
    void make_window_small();
    void make_numbers_scarce();
    void make_other_names();
    void make_limits();
    void make_disagreement();

    // steps (plan.cpp)
    void make_moments();
    microseconds moment();
    microseconds moment_within(choices& own, std::uint64_t spread);
    step some(act what);
    step acquire();
    void add(act what, std::uint64_t times);
    void make_troubles();
    void refuse_repetitions();
    void close_the_paused();

    // stories of several steps, all drawn apart (plan_stories.cpp)
    void make_moves();
    void make_replacements();
    void make_vain_parents();
    void make_partitions();
    void make_lone_refusals();
    void make_outages();
    void make_unnoticed_set_back();
    void make_crowd(bool troubled);

    // clients with peers, drawn apart too (plan_peers.cpp)
    void make_peers();
    void make_haste(choices& own);
    void make_silences(choices& own, microseconds begin);
    void make_numbers_again(choices& own, microseconds begin, unsigned path);

    choices choose_;
    kind_of_plan kind_;
    plan plan_;
    theme theme_ = theme::calm;
    std::vector<microseconds> moments_;
};

} // namespace zklock::simulator

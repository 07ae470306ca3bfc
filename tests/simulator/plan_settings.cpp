// In which world a schedule takes place: servers, clients, and the options of their locks.
#include "planner.hpp"

namespace zklock::simulator {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

void planner::make_settings()
{
    auto& s = plan_.set;
    s.servers = std::array{1u, 3u, 3u, 5u}[draw(4)];
    s.clients = static_cast<unsigned>(2 + draw(3));
    s.paths = one_in(4) ? 2 : 1;
    if (kind_.which == recipe::multi_lock)
        s.paths = static_cast<unsigned>(2 + draw(3));
    s.session_timeout = milliseconds(std::array{1'000, 2'000, 4'000}[draw(3)]);
    s.tick = s.session_timeout / static_cast<int>(2 + draw(3));
    s.expiry_rounded_up = one_in(3);
    if (plan_.seed % 7 == 3)
        make_limits();
    s.delay = microseconds(std::array{50, 200, 1'000, 10'000}[draw(4)]);
    s.delay_spread = microseconds(std::array{20, 300, 2'000, 20'000}[draw(4)]);
    if (s.servers > 1 && one_in(2))
        s.follower_lag = microseconds(std::array{500, 5'000, 100'000}[draw(3)]);
    // Within what the clients believe, but up to the edge of it.
    s.leader_drift_ppm = static_cast<std::int32_t>(draw(4'500));
    for (unsigned i = 0; i < s.clients; ++i)
        s.client_drift_ppm.push_back(-static_cast<std::int32_t>(draw(4'500)));
    if (about(theme::network))
        s.one_fault_in = std::array{4u, 10u, 30u, 100u}[draw(4)];
    if (about(theme::expiry) && one_in(2))
        s.one_fault_in = 50;
    s.parents_exist = !one_in(3);
    s.parents_are_containers = !one_in(3);
    s.disconnect_told_at_close = one_in(2);
    if (one_in(8))
        s.node_budget = 150 + draw(300);
    if (one_in(6)) {
        s.parents_exist = true;
        s.first_sequence = std::array{9'999'999u, (1u << 30) - 3u, 2'000'000'000u, 2'146'999'996u}[draw(4)];
    }
    s.quiet_after = s.session_timeout * static_cast<int>(1 + draw(4));
    agreed_options& agreed = s.agreed[0]; // nothing is drawn for these
    agreed.names = plan_.seed % 2 == 0 ? naming::curator : naming::kazoo;
    switch (plan_.seed / 2 % 16) {
    case 1: agreed.linger = 50ms; break;
    case 2: agreed.linger = 2min; break;
    case 3: agreed.cohort = 3; break;
    case 4: agreed.linger = 2min; [[fallthrough]];
    case 5: agreed.cohort = 2; break;
    default: break;
    }
    s.agreed[1] = agreed;
    if (plan_.seed * 29 % 1009 % 5 == 3)
        make_numbers_scarce(); // none of the seeds that found something
    if (plan_.seed * 189 % 1013 % 4 == 3)
        make_window_small();                                      // likewise
    const bool of_known_names = plan_.seed * 425 % 1021 % 4 != 1; // likewise
    if (kind_.which == recipe::mutex && !of_known_names)
        make_other_names();
    s.exists_needs_read = plan_.seed * 97 % 1019 % 2 == 1;
    s.eager_access_check = plan_.seed * 615 % 1009 % 8 == 1; // none of those seeds
}

/// What users ask for besides locks has to wait for its turn. Drawn apart.
void planner::make_window_small()
{
    choices own(plan_.seed ^ 0x3'1d0e);
    plan_.set.users_window = std::array{1u, 1u, 2u, 3u, 5u}[own.below(5, choices::stream::plan)];
}

/// Numbers end early, so that the parent has to be made again, many times; or it begins close before the true end.
/// Drawn apart.
void planner::make_numbers_scarce()
{
    choices own(plan_.seed ^ 0x2'147'483);
    auto& s = plan_.set;
    if (own.below(4, choices::stream::plan) != 0) {
        s.scarce_from = std::array{1, 2, 3, 5, 8, 15, 30}[own.below(7, choices::stream::plan)];
    } else {
        s.parents_exist = true;
        s.first_sequence = static_cast<std::uint32_t>(s.scarce_from);
        s.first_sequence -= static_cast<std::uint32_t>(own.below(20, choices::stream::plan));
    }
}

/// Other programs name their contenders as they like, and ours heed that. Drawn apart.
void planner::make_other_names()
{
    choices own(plan_.seed ^ 0x7a'3e5);
    const auto one_of = [&own](std::uint64_t n) { return own.below(n, choices::stream::plan) == 0; };
    auto& s = plan_.set;
    if (one_of(2))
        s.mark = own_mark;
    if (!one_of(4))
        s.also_heeds.emplace_back();
    if (s.also_heeds.empty() || one_of(2))
        s.also_heeds.emplace_back(other_mark);
}

/// Users do not agree on what the locks of a client on a path have to agree on. Drawn apart.
void planner::make_disagreement()
{
    choices own(plan_.seed ^ 0xd15'a62ee);
    const auto below = [&own](std::uint64_t n) { return own.below(n, choices::stream::plan); };
    const agreed_options& usual = plan_.set.agreed[0];
    agreed_options& other = plan_.set.agreed[1];
    other.linger = std::array{0ms, 50ms, 120'000ms}[below(3)];
    other.cohort = 1 + (usual.cohort + static_cast<unsigned>(below(2))) % 3; // another one, of three
    if (below(2) == 0 || is_shared(kind_.which))
        other.names = usual.names == naming::curator ? naming::kazoo : naming::curator;
    const bool by_owner = kind_.which == recipe::reentrant_mutex; // those of an owner's first acquire hold for it
    for (step& s : plan_.steps)
        s.other_options = s.what == act::acquire && (by_owner ? s.choice % 2 : below(2)) == 0;
}

/// Servers that grant a session twice the time that others do. Drawn apart.
void planner::make_limits()
{
    choices own(plan_.seed ^ 0x5e55'1075);
    auto& s = plan_.set;
    const auto usual = s.session_timeout;
    s.session_timeout *= 2;
    for (unsigned i = 0; i < s.servers + 2; ++i)
        s.granted.push_back(own.below(2, choices::stream::plan) == 0 ? usual : s.session_timeout);
}

} // namespace zklock::simulator

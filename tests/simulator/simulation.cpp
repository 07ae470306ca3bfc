#include "simulation.hpp"

#include "users.hpp"

namespace zklock::simulator {

namespace {

verdict simulate_once(const plan& p, bool traced)
{
    stage s(p, traced);
    switch (p.which) {
    case recipe::mutex: return s.run(*make_mutex_users(s));
    case recipe::reentrant_mutex: return s.run(*make_reentrant_users(s));
    case recipe::multi_lock: return s.run(*make_multi_users(s));
    case recipe::election: return s.run(*make_election_users(s));
    case recipe::node_watch: return s.run(*make_node_watch_users(s));
    case recipe::semaphore: return s.run(*make_semaphore_users(s));
    case recipe::transaction: return s.run(*make_transaction_users(s));
    case recipe::owned_shared_mutex: return s.run(*make_owned_users(s));
    case recipe::shared_mutex: return s.run(*make_shared_users(s));
    case recipe::revocation: return s.run(*make_revocation_users(s));
    }
    return {};
}

/// Where nobody reaches anybody, clients ask the servers for the same, and at the same times, as without peers.
std::string first_difference(const verdict& dead, const verdict& none)
{
    const auto until = std::min(dead.ended, none.ended); // what comes after it depends on when somebody looks
    const auto until_then = [until](const std::vector<noted_request>& all) {
        return std::find_if(all.begin(), all.end(), [until](const auto& r) { return r.at > until; });
    };
    const auto end = until_then(dead.requests);
    const auto end_without = until_then(none.requests);
    const auto [with, without] = std::mismatch(dead.requests.begin(), end, none.requests.begin(), end_without);
    if (with == end && without == end_without)
        return {};
    const auto told = [](auto it, auto last) {
        return it == last ? "nothing" : it->what + " at " + std::to_string(it->at.count()) + " ns";
    };
    return "with dead peers, " + told(with, end) + "; without peers, " + told(without, end_without);
}

} // namespace

verdict simulate(const plan& p, bool traced)
{
    if (p.set.peers != peer_life::dead)
        return simulate_once(p, traced);
    auto noted = p;
    noted.set.requests_noted = true;
    auto dead = simulate_once(noted, traced);
    if (!dead.violation.empty())
        return dead;
    noted.set.peers = peer_life::none;
    dead.violation = first_difference(dead, simulate_once(noted, false));
    return dead;
}

} // namespace zklock::simulator

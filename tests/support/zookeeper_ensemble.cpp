#include "support/zookeeper_ensemble.hpp"

#include "support/failure_report.hpp"
#include "support/four_letter_words.hpp"

#include <algorithm>
#include <stdexcept>

namespace zklock::test {

zookeeper_ensemble::zookeeper_ensemble(std::size_t servers, const server_options& options, const peer_route& route,
                                       std::size_t observers)
    : observers_(observers)
{
    // Somebody outside these tests may take a port between our look and a server's bind.
    constexpr int attempts = 3;
    for (int attempt = 1;; ++attempt) {
        start(servers, options, route);
        try {
            wait_all();
            return;
        } catch (const std::runtime_error&) {
            const bool all_run = std::all_of(servers_.begin(), servers_.end(), [](auto& s) { return s->running(); });
            if (attempt == attempts || all_run)
                throw;
        }
    }
}

void zookeeper_ensemble::start(std::size_t servers, const server_options& options, const peer_route& route)
{
    servers_.clear();
    const auto observes = [&](std::size_t member) { return member + observers_ >= servers; };
    quorum_ports_ = std::vector<port_lease>(2 * servers);
    for (std::size_t from = 0; from < servers; ++from) {
        std::vector<std::string> lines;
        for (std::size_t to = 0; to < servers; ++to) {
            std::string line = "server." + std::to_string(to + 1) + "=127.0.0.1";
            for (const auto& lease : {&quorum_ports_[2 * to], &quorum_ports_[2 * to + 1]}) {
                const bool direct = !route || from == to;
                line += ":" + std::to_string(direct ? lease->port() : route(from, to, lease->port()));
            }
            lines.push_back(line + (observes(to) ? ":observer" : ""));
        }
        if (observes(from))
            lines.emplace_back("peerType=observer");
        servers_.emplace_back(
            new zookeeper_server{options, port_lease{}, {.id = static_cast<int>(from + 1), .lines = lines}});
    }
}

std::string zookeeper_ensemble::address() const
{
    std::string all;
    for (const auto& server : servers_)
        all += (all.empty() ? "" : ",") + server->address();
    return all;
}

std::string zookeeper_ensemble::secure_address() const
{
    std::string all;
    for (const auto& server : servers_)
        all += (all.empty() ? "" : ",") + server->secure_address();
    return all;
}

std::vector<std::uint16_t> zookeeper_ensemble::ports() const
{
    std::vector<std::uint16_t> all;
    for (const auto& server : servers_)
        all.push_back(server->port());
    return all;
}

std::size_t zookeeper_ensemble::find(const std::string& mode, milliseconds limit)
{
    std::size_t found = 0;
    wait_until("an ensemble member is " + mode, limit, [&] {
        for (found = 0; found < servers_.size(); ++found)
            if (servers_[found]->running() && server_mode(servers_[found]->port()) == mode)
                return true;
        return false;
    });
    return found;
}

void zookeeper_ensemble::wait_serving(std::size_t members, milliseconds limit)
{
    // All in one look: a leader that was paused thinks for a while that it still leads.
    wait_until(std::to_string(members) + " members serve", limit, [&] {
        std::size_t leaders = 0, followers = 0;
        for (const auto& server : servers_) {
            if (!server->running()) {
                if (members == servers_.size())
                    throw std::runtime_error("a member ended:\n" + tail_of(server->log()));
                continue;
            }
            const auto mode = server_mode(server->port());
            leaders += mode == "leader";
            followers += mode == "follower" || mode == "observer";
        }
        return leaders == 1 && leaders + followers >= members;
    });
}

} // namespace zklock::test

#pragma once
#include "support/zookeeper_server.hpp"

#include <cstddef>
#include <memory>

namespace zklock::test {

/// By which port a member reaches a port of another one. Members count from 0.
using peer_route = std::function<std::uint16_t(std::size_t from, std::size_t to, std::uint16_t port)>;

/// Several servers that form one ensemble.
class zookeeper_ensemble {
public:
    /// Starts them and returns when all of them serve. The last so many are observers: they have no vote.
    explicit zookeeper_ensemble(std::size_t servers, const server_options& options = server_options(),
                                const peer_route& route = peer_route(), std::size_t observers = 0);

    [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
    [[nodiscard]] zookeeper_server& operator[](std::size_t index) { return *servers_.at(index); }
    /// host:port,host:port,…, as client_options::servers wants it.
    [[nodiscard]] std::string address() const;
    /// The same of the ports for TLS. Only with server_options::secure.
    [[nodiscard]] std::string secure_address() const;
    [[nodiscard]] std::vector<std::uint16_t> ports() const;

    /// Who leads now; waits until somebody does.
    [[nodiscard]] std::size_t leader(milliseconds limit = default_limit) { return find("leader", limit); }
    /// One that follows now; waits until somebody does.
    [[nodiscard]] std::size_t follower(milliseconds limit = default_limit) { return find("follower", limit); }
    /// A leader and enough followers serve.
    void wait_quorum(milliseconds limit = default_limit)
    {
        wait_serving((servers_.size() - observers_) / 2 + 1, limit);
    }
    /// All of them serve.
    void wait_all(milliseconds limit = default_limit) { wait_serving(servers_.size(), limit); }

private:
    void start(std::size_t servers, const server_options& options, const peer_route& route);
    std::size_t find(const std::string& mode, milliseconds limit);
    void wait_serving(std::size_t members, milliseconds limit);

    std::size_t observers_;
    std::vector<port_lease> quorum_ports_; // bound again at every restart: reserved as long as the ensemble lives
    std::vector<std::unique_ptr<zookeeper_server>> servers_;
};

} // namespace zklock::test

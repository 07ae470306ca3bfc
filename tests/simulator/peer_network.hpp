#pragma once
#include "store/peers.hpp"
#include "world.hpp"

#include <set>

namespace zklock::simulator {

class simulated_peers;

/// The network between clients, where anything may happen to a message: it is lost, late, repeated, and certificates
/// come from strangers, too. It depends on nothing that happens between clients and servers, nor the other way round.
class peer_network {
public:
    explicit peer_network(world& w) : world_(w) {}

    /// Where this client is reached from now on: at an address of its own, or at one that a process has left that died.
    [[nodiscard]] std::string open(simulated_peers& p);
    /// Its process has died. Whatever is under way to it arrives nowhere.
    void close(const simulated_peers& p);

    /// Who answers there, if anybody does.
    [[nodiscard]] simulated_peers* who_is_at(std::string_view endpoint) const;
    /// One message between these two: `arrives` is called once, several times or not at all.
    void send(unsigned from, simulated_peers& to, std::function<void()> arrives);
    /// Whether a connection between clients ends by itself, and after what time.
    [[nodiscard]] std::optional<instant> end_of_a_connection(unsigned of);
    [[nodiscard]] bool one_in(std::uint64_t n, unsigned of)
    {
        return world_.choose.one_in(n, choices::stream::peers, of);
    }

    /// From now on clients of even numbers and those of odd ones do not reach each other, for that time.
    void part(instant duration) { parted_until_ = std::max(parted_until_, world_.time.now() + duration); }

    /// The owner of that node has let it go. Strangers may have heard of it.
    void published(unsigned by, const store::node_secret& secret, const store::commitment& node);
    /// Whether the owner of the node of that uuid has ever said that it will never serve anybody again.
    [[nodiscard]] bool is_let_go(std::string_view uuid) const { return let_go_.contains(std::string(uuid)); }
    /// Who is told of all that is published, before anybody else knows it.
    std::function<void(unsigned by, std::string_view uuid)> on_published;

    /// Text that somebody writes into the data of a node, as the place where its owner is reached.
    [[nodiscard]] std::string some_endpoint(std::uint32_t choice) const;

private:
    [[nodiscard]] instant travel_time(unsigned of);
    [[nodiscard]] bool goes_wrong(unsigned of);
    [[nodiscard]] bool reach_each_other(unsigned a, unsigned b) const;
    void gossip(unsigned by, const store::node_secret& secret);
    void tell_somebody(unsigned by, const store::node_secret& secret, instant when);

    world& world_;
    std::map<std::string, simulated_peers*, std::less<>> at_; ///< null: a process that died was there
    std::vector<simulated_peers*> open_;
    unsigned opened_ = 0;
    instant parted_until_{0};
    std::set<std::string> let_go_; ///< uuids
    std::vector<store::node_secret> known_to_strangers_;
};

/// The uuid in a contender's name, as its 36 characters; empty if there is none.
[[nodiscard]] std::string uuid_in(std::string_view name);

} // namespace zklock::simulator

// The simulated peers: what the contract promises, and the liberties that it leaves.
#include "simulated_peers.hpp"
#include "store_scene.hpp"

using namespace zklock::simulator;

namespace {

settings of_peers(unsigned one_fault_in = 0)
{
    auto s = calm(1);
    s.peers = peer_life::alive;
    s.one_peer_fault_in = one_fault_in;
    return s;
}

/// A client that writes down what others tell it.
struct peer final : zklock::store::peers_observer {
    peer(world& w, peer_network& n, unsigned number) : where(w, number, 0), way(w, n, where, number)
    {
        way.attach(*this);
    }
    void on_certificate(const store::node_secret& s) override { secrets.push_back(s); }
    void on_awaited(const store::commitment& c) override { awaited.push_back(c); }

    process where;
    simulated_peers way;
    std::vector<store::node_secret> secrets;
    std::vector<store::commitment> awaited;
};

struct peer_scene : scene {
    explicit peer_scene(settings s, std::uint64_t seed = 1)
        : scene(std::move(s), seed), network(w), a(w, network, 0), b(w, network, 1)
    {
    }
    /// What `a` offers.
    store::own_node offer() { return a.way.make_node(); }
    void a_lets_go(const store::own_node& node, const std::vector<store::node_secret>& before = {})
    {
        a.way.publish(node, before);
    }
    void b_asks(const store::own_node& node) { b.way.subscribe(node.commitment, a.way.endpoint()); }

    peer_network network;
    peer a;
    peer b;
};

} // namespace

TEST_CASE("a commitment has the form of a version 4 uuid, and each secret has its own")
{
    peer_scene s(of_peers());
    const auto one = s.a.way.make_node();
    const auto other = s.a.way.make_node();
    CHECK(one.secret != other.secret);
    const std::string text(store::text(one.commitment));
    CHECK(text == store::text(s.b.way.commitment_to(one.secret)));
    CHECK(text != store::text(other.commitment));
    CHECK(text[14] == '4');
    CHECK(std::string("89ab").find(text[19]) != std::string::npos);
    CHECK(uuid_in("/locks/a/_c_" + text + "-lock-0000000001") == text);
    std::string bare = text;
    std::erase(bare, '-');
    CHECK(uuid_in(bare + "__lock__0000000001") == text);
    CHECK(uuid_in("notes").empty());
}

TEST_CASE("who asks for a node on offer is told once it is let go, with the nodes before it, and nobody else")
{
    peer_scene s(of_peers());
    peer third(s.w, s.network, 2);
    const auto before = s.offer();
    const auto node = s.offer();
    CHECK_FALSE(s.a.way.awaited(node));
    s.b_asks(node);
    s.pass(1s);
    CHECK(s.a.way.awaited(node));
    CHECK(s.a.awaited == std::vector{node.commitment});
    CHECK(s.b.secrets.empty());
    s.a_lets_go(node, {before.secret});
    CHECK(s.b.secrets.empty()); // not inside the call
    s.pass(1s);
    CHECK(s.b.secrets == std::vector{node.secret, before.secret});
    CHECK(third.secrets.empty());
    CHECK(s.b.way.left().empty());
    CHECK(s.network.is_let_go(store::text(node.commitment)));
    CHECK(s.b.way.told_let_go(store::text(node.commitment)));
}

TEST_CASE("who was told of a node before is not told of it again soon")
{
    peer_scene s(of_peers());
    const auto before = s.offer();
    const auto first = s.offer(), second = s.offer();
    for (const auto& each : {first, second}) {
        s.b_asks(each);
        s.pass(1s);
        s.a_lets_go(each, {before.secret});
        s.pass(1s);
    }
    CHECK(s.b.secrets == std::vector{first.secret, before.secret, second.secret});
}

TEST_CASE("who asks soon after a node was let go is told at once; later nobody is, nor of nodes that are not on offer")
{
    peer_scene s(of_peers());
    const auto soon = s.offer();
    s.a_lets_go(soon);
    s.b_asks(soon);
    s.pass(1s);
    CHECK(s.b.secrets == std::vector{soon.secret});
    const auto late = s.offer();
    s.a_lets_go(late);
    s.pass(10s);
    s.b_asks(late);
    const auto withdrawn = s.offer();
    s.b_asks(withdrawn);
    s.pass(1s);
    s.a.way.withdraw(withdrawn);
    s.pass(1s);
    CHECK(s.b.secrets == std::vector{soon.secret});
    CHECK(s.b.way.left().size() == 2);
    s.b.way.unsubscribe(late.commitment);
    s.b.way.unsubscribe(withdrawn.commitment);
    CHECK(s.b.way.left().empty());
}

TEST_CASE("a subscription that is taken back is not served, and a node may be awaited again")
{
    peer_scene s(of_peers());
    const auto node = s.offer();
    s.b_asks(node);
    s.pass(1s);
    s.b.way.unsubscribe(node.commitment);
    s.pass(1s);
    CHECK_FALSE(s.a.way.awaited(node));
    s.b_asks(node);
    s.pass(1s);
    CHECK(s.a.awaited.size() == 2);
}

TEST_CASE("a subscription beyond the bound is dropped without a word")
{
    auto set = of_peers();
    set.peer_subscriptions = 1;
    peer_scene s(set);
    const auto first = s.offer();
    const auto second = s.offer();
    s.b_asks(first);
    s.b_asks(second);
    s.pass(1s);
    s.a_lets_go(second);
    s.a_lets_go(first);
    s.pass(1s);
    CHECK(s.b.secrets == std::vector{first.secret});
}

TEST_CASE("clients that are parted, dead peers and dead processes do not reach each other")
{
    SUBCASE("parted") {
        peer_scene s(of_peers());
        const auto node = s.offer();
        s.b_asks(node);
        s.pass(1s);
        s.network.part(1s);
        s.a_lets_go(node);
        s.pass(5s);
        CHECK(s.b.secrets.empty());
    }
    SUBCASE("dead peers") {
        auto set = of_peers();
        set.peers = peer_life::dead;
        peer_scene s(set);
        const auto node = s.offer();
        s.b_asks(node);
        s.pass(1s);
        CHECK_FALSE(s.a.way.awaited(node));
        s.a_lets_go(node);
        s.pass(1s);
        CHECK(s.b.secrets.empty());
    }
    SUBCASE("dead process, whose address another client may have now") {
        bool taken = false;
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            peer_scene s(of_peers(), seed);
            const auto node = s.offer();
            s.a.way.abandon();
            s.a.where.kill();
            taken |= s.network.who_is_at(s.a.way.endpoint()) == &s.b.way;
            peer again(s.w, s.network, 0);
            s.b_asks(node);
            s.pass(1s);
            CHECK(s.b.secrets.empty());
        }
        CHECK(taken);
    }
}

TEST_CASE("where messages between clients go wrong, some are lost, repeated or late, and strangers tell what they like")
{
    std::size_t lost = 0;
    std::size_t repeated = 0;
    std::size_t forged = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        peer_scene s(of_peers(2), seed);
        s.w.quiet = false;
        const auto node = s.offer();
        s.b_asks(node);
        s.pass(10s);
        s.a_lets_go(node);
        s.pass(10s);
        const auto right = std::count(s.b.secrets.begin(), s.b.secrets.end(), node.secret);
        lost += right == 0;
        repeated += right > 1;
        forged += static_cast<std::size_t>(right) < s.b.secrets.size();
    }
    CHECK(lost > 10);
    CHECK(repeated > 10);
    CHECK(forged > 10);
}

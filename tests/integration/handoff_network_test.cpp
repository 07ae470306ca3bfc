// program: handoffs
// What one client lets go, another hears over TCP; and where it does not, nothing else happens.
#include "integration/handoff_scene.hpp"
#include "support/no_free_descriptors.hpp"
#include "support/tcp_socket.hpp"

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

using namespace zklock::test;
using asio::ip::tcp;

namespace {

using secrets = std::vector<store::node_secret>;

/// A program that listens, and is no client.
struct other_service {
    explicit other_service(asio::io_context& io) : acceptor(io, {asio::ip::make_address("127.0.0.1"), 0})
    {
        acceptor.non_blocking(true);
    }
    std::string endpoint() { return "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()); }
    /// Somebody who has connected, or nobody.
    std::optional<tcp::socket> visitor()
    {
        boost::system::error_code none;
        tcp::socket made = acceptor.accept(none);
        if (none)
            return std::nullopt;
        return made;
    }
    tcp::acceptor acceptor;
};

} // namespace

TEST_CASE("two clients have one connection each way, for as many nodes as there are")
{
    asio::io_context io;
    peers_end one(io), other(io);
    for (int i = 0; i < 200; ++i) {
        const auto node = awaited_node(io, one, other);
        const auto back = awaited_node(io, other, one);
        one.publish(node);
        other.publish(back);
        run_until(io, [&] { return !other.heard.empty() && !one.heard.empty(); });
        CHECK(other.heard == secrets{node.secret});
        CHECK(one.heard == secrets{back.secret});
        other.heard.clear();
        one.heard.clear();
    }
    CHECK(one->outbound_count() == 1);
    for (const peers_end* each : {&one, &other}) {
        const handoff_metrics counted = each->counted();
        CHECK(counted.connected_to == 1);
        CHECK(counted.connected_from == 1);
        CHECK(counted.given == 200);
        CHECK(counted.not_listed + counted.not_tried + counted.no_answer + counted.refused == 0);
    }
}

TEST_CASE("a node whose data name another endpoint is awaited there, and no longer here")
{
    asio::io_context io;
    peers_end first(io), waiting(io);
    other_service second(io); // which speaks as a client whose node it is
    const auto node = awaited_node(io, first, waiting);
    waiting.subscribe(node.commitment, second.endpoint());
    std::optional<tcp::socket> visitor;
    run_until(io, [&] {
        if (!visitor)
            visitor = second.visitor();
        return visitor && !first->awaited(node);
    });
    std::string hello;
    peering::append(hello, peering::greeting);
    asio::write(*visitor, asio::buffer(hello));
    std::string wished;
    peering::append(wished, peering::wish_frame{peering::wish::subscribe, *peering::id_of(node.commitment)});
    run_until(io, [&] { return visitor->available() >= wished.size(); });
    std::string heard(visitor->available(), '\0');
    asio::read(*visitor, asio::buffer(heard));
    CHECK(heard == wished);
    std::string certificate;
    peering::append(certificate, peering::certificate_frame{peering::certificate_mark, node.secret});
    asio::write(*visitor, asio::buffer(certificate));
    run_until(io, [&] { return !waiting.heard.empty(); });
    CHECK(waiting.heard == secrets{node.secret});
}

TEST_CASE("nobody outside of the listed networks is connected to, and nobody by a name")
{
    asio::io_context io;
    other_service elsewhere(io);
    auto options = on_loopback();
    options.peers = {"10.0.0.0/8", "127.0.0.2", "0.0.0.0/0", "::/0"};
    peers_end waiting(io, options);
    auto listed = on_loopback();
    listed.listen = "127.0.0.2:0";
    peers_end owner(io, listed);
    const auto other = owner.offered();
    const auto port = elsewhere.endpoint().substr(9);
    for (const auto& to : {elsewhere.endpoint(), "localhost" + port, "[::ffff:127.0.0.1]" + port, "0.0.0.0" + port,
                           "[::1]" + port, std::string("127.0.0.1"), std::string()})
        waiting.subscribe(other.commitment, to);
    CHECK(waiting->outbound_count() == 0);
    CHECK(waiting.counted().not_listed == 4); // the other three are no endpoints
    const auto unlisted = [](const std::string& line) { return line.find("none of handoff.peers") != line.npos; };
    CHECK(std::ranges::count_if(waiting.lines, unlisted) == 1); // and the next in a second
    CHECK(waiting.has_line("does not ask the client at " + elsewhere.endpoint()));
    waiting.subscribe(other.commitment, owner.endpoint()); // the one that is listed
    run_until(io, [&] { return owner->awaited(other); });
    CHECK_FALSE(elsewhere.visitor());
}

TEST_CASE("a service that does not greet as a client does hears nothing, and is hung up on within a second or so")
{
    asio::io_context io;
    peers_end waiting(io), owner(io);
    const auto node = owner.offered();
    for (const std::string says : {"", "220 mail.example.org ESMTP\r\n", "\x9azkloc"}) {
        CAPTURE(says);
        other_service service(io);
        waiting.subscribe(node.commitment, service.endpoint());
        std::optional<tcp::socket> visitor;
        run_until(io, [&] { return (visitor = service.visitor()).has_value(); });
        asio::write(*visitor, asio::buffer(says));
        run_until(io, [&] { return waiting->outbound_count() == 0; });
        std::array<char, 100> heard{};
        boost::system::error_code ended;
        CHECK(visitor->read_some(asio::buffer(heard), ended) == 0);
        CHECK((ended == asio::error::eof || ended == asio::error::connection_reset));
        waiting.subscribe(node.commitment, service.endpoint()); // not again so soon
        CHECK(waiting->outbound_count() == 0);
    }
    CHECK(waiting.counted().no_answer == 3);
    CHECK(waiting.counted().not_tried == 3);
    CHECK(waiting.counted().connected_to == 0);
}

TEST_CASE("where nobody listens any more, and where a connection ends, the nodes are left to the servers")
{
    asio::io_context io;
    peers_end waiting(io);
    std::string gone;
    {
        peers_end owner(io);
        gone = owner.endpoint();
        (void)awaited_node(io, owner, waiting);
    }
    run_until(io, [&] { return waiting->outbound_count() == 0; });
    CHECK(waiting.counted().connected_to == 0);
    peers_end other(io);
    const auto node = other.offered();
    waiting.subscribe(node.commitment, gone); // it was tried a moment ago
    CHECK(waiting->outbound_count() == 0);
    waiting.subscribe(node.commitment, other.endpoint());
    run_until(io, [&] { return other->awaited(node); });
}

TEST_CASE("the client says where it is reached: as told, or where it listens, or from where it is connected")
{
    asio::io_context io;
    auto options = on_loopback();
    options.advertise = "192.0.2.1:7411";
    CHECK(peers_end(io, options).endpoint() == "192.0.2.1:7411");
    options.advertise = "2001:db8::1";
    peers_end with_address(io, options);
    CHECK(with_address.endpoint().starts_with("[2001:db8::1]:"));
    CHECK_FALSE(with_address.endpoint().ends_with(":0"));
    options = on_loopback();
    options.listen = "0.0.0.0:0";
    CHECK(peers_end(io, options).endpoint().empty());
    const auto local = [](const char* text) { return peering::parse_address(text); };
    const auto told = [&](const char* connected_from) {
        peers_end end(io, options, local(connected_from));
        const std::string endpoint = end.endpoint();
        CHECK(end.endpoint() == endpoint);
        const auto of_address = [](const std::string& line) { return line.find("come") != line.npos; };
        const auto line = std::ranges::find_if(end.lines, of_address);
        REQUIRE(std::ranges::count_if(end.lines, of_address) == 1); // however often it is asked for
        return std::pair(endpoint, *line);
    };
    const auto [public_one, public_line] = told("192.0.2.7");
    CHECK(public_one.starts_with("192.0.2.7:"));
    CHECK(public_line == "tells other clients to come to " + public_one);
    const auto [local_one, local_line] = told("127.0.0.1");
    CHECK(local_line == "tells other clients to come to " + local_one + ", which those on other machines cannot reach");
    const auto [other_kind, other_line] = told("2001:db8::7"); // it does not listen there
    CHECK(other_kind.empty());
    CHECK(other_line.starts_with("tells no other client to come, because they cannot reach [2001:db8::7]:"));
    CHECK(other_line.ends_with(": it listens on IPv4 alone; handoff.advertise can say where they do"));
    const auto [link_local, link_local_line] = told("169.254.1.1");
    CHECK(link_local.empty());
    CHECK(link_local_line.starts_with("tells no other client to come, because they cannot reach 169.254.1.1:"));
}

TEST_CASE("who lists nobody asks nobody, and needs not be told of it")
{
    asio::io_context io;
    auto options = on_loopback();
    options.peers.clear();
    peers_end waiting(io, options), owner(io);
    waiting.subscribe(owner.offered().commitment, owner.endpoint());
    CHECK(waiting.counted().not_listed == 1);
    CHECK_FALSE(waiting.has_line("none of handoff.peers"));
}

TEST_CASE("a port that is taken: the log says so, and the client listens once it is free")
{
    asio::io_context io;
    auto first = std::make_unique<peers_end>(io);
    auto options = on_loopback();
    options.listen = first->endpoint();
    peers_end second(io, options);
    CHECK(second.endpoint().empty());
    CHECK_FALSE(second.counted().listens);
    CHECK(second.has_line("cannot listen for other clients on " + options.listen + ": Address already in use"));
    const auto node = second.offered(); // all else works
    second.publish(node);
    first.reset();
    run_until(io, [&] { return !second.endpoint().empty(); });
    CHECK(second.endpoint() == options.listen);
    CHECK(second.counted().listens);
    peers_end waiting(io);
    (void)awaited_node(io, second, waiting);
}

TEST_CASE("no descriptor left: the log says so, and who waits to be accepted is accepted when there is one")
{
    asio::io_context io;
    peers_end owner(io), waiting(io);
    const tcp_socket stranger(owner.port(), default_limit); // it is in the kernel's queue
    std::optional<no_free_descriptors> none(std::in_place);
    run_until(io, [&] { return owner.has_line("cannot accept other clients"); });
    CHECK(owner.has_line("Too many open files"));
    CHECK(owner.counted().connected_from == 0);
    const auto node = owner.offered();
    waiting.subscribe(node.commitment, owner.endpoint()); // which fails as well
    CHECK(waiting->outbound_count() == 0);
    none.reset();
    run_until(io, [&] { return owner.counted().connected_from == 1; });
}

TEST_CASE("a client that has stopped leaves the executor nothing to do, and does nothing")
{
    asio::io_context io;
    peers_end owner(io), waiting(io);
    const auto node = awaited_node(io, owner, waiting);
    owner.publish(node);
    owner->stop();
    waiting->stop();
    CHECK(owner.endpoint().empty());
    CHECK_FALSE(owner.counted().listens);
    CHECK(owner.counted().connected_from == 0);
    CHECK(waiting.counted().connected_to == 0);
    owner->publish(owner->make_node(), {});
    waiting->subscribe(node.commitment, "127.0.0.1:1");
    io.restart();
    io.run_for(default_limit); // returns at once
    CHECK(io.stopped());
}

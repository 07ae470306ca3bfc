// program: handoffs
// Strangers who reach a client's port: what they do costs it a bounded number of connections, and never its turn.
#include "integration/handoff_scene.hpp"
#include "support/tcp_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

using namespace zklock::test;

namespace {

/// A connection to the client from an address of the loopback interface.
unique_fd connect_from(const std::string& address, std::uint16_t port)
{
    unique_fd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(made.get() >= 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    REQUIRE(::inet_pton(AF_INET, address.c_str(), &own.sin_addr) == 1);
    REQUIRE(::bind(made.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(made.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    return made;
}

/// What has come there, and whether the other end has hung up.
struct come {
    std::string bytes;
    bool ended = false;
};
come take(int socket)
{
    come now;
    std::array<char, 65'536> room{};
    for (;;) {
        const auto count = ::recv(socket, room.data(), room.size(), MSG_DONTWAIT);
        if (count <= 0) {
            now.ended = count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
            return now;
        }
        now.bytes.append(room.data(), static_cast<std::size_t>(count));
    }
}

void say(int socket, const std::string& text)
{
    REQUIRE(::send(socket, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
}

std::string subscription(const store::commitment& to)
{
    std::string out;
    peering::append(out, peering::wish_frame{peering::wish::subscribe, peering::id_of(to).value()});
    return out;
}

std::string greeting_text()
{
    std::string out;
    peering::append(out, peering::greeting);
    return out;
}

} // namespace

TEST_CASE("who is silent, and who talks rubbish, is hung up on; a client beside them is served")
{
    asio::io_context io;
    peers_end owner(io), waiting(io);
    const auto node = awaited_node(io, owner, waiting);
    const auto silent = connect_from("127.0.0.2", owner.port());
    const auto loud = connect_from("127.0.0.3", owner.port());
    const auto slow = connect_from("127.0.0.4", owner.port());
    say(loud.get(), std::string(100'000, 'x'));
    say(slow.get(), subscription(node.commitment).substr(0, 16));
    for (const auto* each : {&loud, &silent, &slow}) {
        come heard;
        run_until(io, [&] {
            const come more = take(each->get());
            heard.bytes += more.bytes;
            return more.ended;
        });
        if (each != &loud) // what it was sent may be lost, as it was sending itself
            CHECK(heard.bytes == greeting_text());
    }
    CHECK(owner.counted().connected_from == 1);
    CHECK(owner.counted().refused == 3);
    owner.publish(node);
    run_until(io, [&] { return !waiting.heard.empty(); });
}

TEST_CASE("who names nodes that are not there is hung up on, and nothing of it is kept")
{
    asio::io_context io;
    peers_end owner(io), other(io);
    const auto known = owner.offered();
    const auto unknown = other.offered();
    const auto stranger = connect_from("127.0.0.2", owner.port());
    say(stranger.get(), subscription(unknown.commitment) + subscription(known.commitment));
    run_until(io, [&] { return take(stranger.get()).ended; });
    CHECK_FALSE(owner->awaited(known));
    CHECK(owner.awaited.empty());
    CHECK(owner.counted().refused == 1);
}

TEST_CASE("who repeats itself without end is hung up on, and a client beside many of those is served")
{
    asio::io_context io;
    peers_end owner(io), waiting(io);
    const auto node = awaited_node(io, owner, waiting);
    const auto other = owner.offered();
    std::string again;
    for (int i = 0; i < 100; ++i)
        again += subscription(other.commitment);
    std::vector<unique_fd> strangers;
    for (int i = 0; i < 32; ++i)
        strangers.push_back(connect_from("127.0.5." + std::to_string(i / 16 + 1), owner.port()));
    run_until(io, [&] {
        std::erase_if(strangers, [&](const unique_fd& each) {
            static_cast<void>(::send(each.get(), again.data(), again.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
            return take(each.get()).ended;
        });
        return strangers.empty();
    });
    CHECK(owner.counted().refused == 32);
    CHECK(owner.counted().connected_from == 1);
    owner.publish(node);
    run_until(io, [&] { return !waiting.heard.empty(); });
}

TEST_CASE("an address has 16 places, all have 256, and a place that is left is another's")
{
    asio::io_context io;
    peers_end owner(io);
    const auto node = owner.offered();
    std::vector<unique_fd> strangers;
    const auto fill = [&](const std::string& from, std::size_t expected) {
        for (int i = 0; i < 16; ++i) {
            strangers.push_back(connect_from(from, owner.port()));
            say(strangers.back().get(), subscription(node.commitment)); // or it would have to go soon
        }
        run_until(io, [&] { return owner.counted().connected_from == expected; });
    };
    for (std::size_t i = 0; i < 16; ++i) {
        fill("127.0.1." + std::to_string(i + 1), 16 * (i + 1));
        const auto more = connect_from("127.0.1." + std::to_string(i + 1), owner.port());
        run_until(io, [&] { return take(more.get()).ended; });
        CHECK(owner.counted().connected_from == 16 * (i + 1));
    }
    CHECK(owner.has_line("hangs up on 127.0.1.1:"));
    const auto more = connect_from("127.0.2.1", owner.port());
    run_until(io, [&] { return take(more.get()).ended; });
    CHECK(owner.counted().connected_from == 256);
    CHECK(owner.counted().over_share == 16);
    CHECK(owner.counted().refused == 1);
    strangers.pop_back();
    run_until(io, [&] { return owner.counted().connected_from == 255; });
    const auto next = connect_from("127.0.2.1", owner.port());
    run_until(io, [&] { return owner.counted().connected_from == 256; });
    CHECK_FALSE(take(next.get()).ended);
    // A log of the flood is a few lines.
    CHECK(owner.lines.size() < 20);
}

TEST_CASE("an address that connects again and again keeps nobody else out, and is counted")
{
    asio::io_context io;
    peers_end owner(io);
    const auto before = lease_clock::now();
    std::vector<unique_fd> clients; // as many as have one address
    while (clients.size() < 16) {
        for (int i = 0; i < 100; ++i)
            static_cast<void>(connect_from("127.0.6.1", owner.port()));
        const auto node = owner.offered();
        clients.push_back(connect_from("127.0.6.2", owner.port()));
        say(clients.back().get(), subscription(node.commitment));
        run_until(io, [&] { return owner->awaited(node); });
    }
    run_until(io, [&] { return owner.counted().connected_from == clients.size(); });
    const auto of_its_share = 64 + (lease_clock::now() - before) / 32ms + 1;
    CHECK(owner.counted().over_share + static_cast<std::uint64_t>(of_its_share) >= 1'600);
    CHECK(owner.counted().over_share > 0);
    CHECK(owner.counted().refused == 0);
    for (const unique_fd& each : clients)
        CHECK_FALSE(take(each.get()).ended);
    CHECK(owner.has_line("hangs up on 127.0.6.1:"));
    CHECK(owner.lines.size() < 20);
}

TEST_CASE("more connections than a client can hang up on cheaply: they wait, others come in after them")
{
    asio::io_context io;
    peers_end owner(io);
    std::vector<unique_fd> clients;
    do {
        REQUIRE(clients.size() < 16);
        for (int i = 0; i < 1'000; ++i) // the kernel keeps them
            static_cast<void>(connect_from("127.0.7.1", owner.port()));
        const auto node = owner.offered();
        clients.push_back(connect_from("127.0.7.2", owner.port()));
        say(clients.back().get(), subscription(node.commitment));
        run_until(io, [&] { return owner->awaited(node); });
    } while (owner.counted().accept_pauses == 0); // a slow machine may take longer than they are let wait
    CHECK(owner.has_line("more than 4000 in a second connect to 127.0.0.1:0: some are left waiting"));
    CHECK(owner.counted().refused == 0);
    CHECK(owner.lines.size() < 20);
}

TEST_CASE("a flood of connections: no turn accepts more than 16, and a heartbeat comes between")
{
    asio::io_context io;
    peers_end owner(io);
    const auto node = owner.offered();
    std::vector<unique_fd> strangers;
    for (int i = 0; i < 60; ++i) { // what the kernel queues
        strangers.push_back(connect_from("127.0.3." + std::to_string(i / 16 + 1), owner.port()));
        say(strangers.back().get(), subscription(node.commitment));
    }
    std::uint64_t most_between = 0, last = 0;
    std::function<void()> beat = [&] {
        most_between = std::max(most_between, owner.counted().connected_from - last);
        last = owner.counted().connected_from;
        if (last < strangers.size())
            asio::post(owner.strand(), beat);
    };
    asio::post(owner.strand(), beat);
    run_until(io, [&] { return last == strangers.size(); });
    CHECK(most_between <= 16);
    CHECK(most_between > 0);
}

TEST_CASE("a node that many wait for: no turn tells more than 16 of them, and a heartbeat comes between")
{
    asio::io_context io;
    peers_end owner(io);
    const auto node = owner.offered();
    struct waiter {
        unique_fd socket;
        bool told = false;
    };
    std::vector<waiter> waiting;
    for (int i = 0; i < 60; ++i) {
        waiting.push_back({connect_from("127.0.4." + std::to_string(i / 15 + 1), owner.port())});
        // Of each node the first who waits is told of: so each has one to itself, too.
        say(waiting.back().socket.get(), subscription(node.commitment) + subscription(owner.offered().commitment));
    }
    run_until(io, [&] { return owner.awaited.size() == waiting.size() + 1; });
    for (const waiter& each : waiting)
        static_cast<void>(take(each.socket.get())); // the greeting
    std::size_t told = 0, most_between = 0;
    std::function<void()> beat = [&] {
        const std::size_t before = told;
        for (waiter& each : waiting)
            if (!each.told && !take(each.socket.get()).bytes.empty()) {
                each.told = true;
                ++told;
            }
        most_between = std::max(most_between, told - before);
        if (told < waiting.size())
            asio::post(owner.strand(), beat);
    };
    asio::post(owner.strand(), beat);
    owner.publish(node);
    run_until(io, [&] { return told == waiting.size(); });
    CHECK(most_between <= 16);
    CHECK(most_between > 0);
}

TEST_CASE("what a turn lets go first is told at once, the rest when it ends")
{
    asio::io_context io;
    peers_end owner(io);
    const auto first = owner.offered(), second = owner.offered();
    const auto waits = [&](const peers_end::node& node) {
        auto socket = connect_from("127.0.0.2", owner.port());
        say(socket.get(), subscription(node.commitment));
        return socket;
    };
    const unique_fd of_first = waits(first), of_second = waits(second);
    run_until(io, [&] { return owner.awaited.size() == 2; });
    const auto comes = [](const unique_fd& socket) {
        pollfd readable{socket.get(), POLLIN, 0};
        return ::poll(&readable, 1, 10'000) == 1 && !take(socket.get()).bytes.empty();
    };
    REQUIRE(comes(of_first)); // the greeting
    REQUIRE(comes(of_second));
    owner.in_turn([&] {
        owner->publish(first, {});
        CHECK(comes(of_first));
        owner->publish(second, {});
        CHECK(take(of_second.get()).bytes.empty());
    });
    CHECK(comes(of_second));
}

TEST_CASE("who subscribes and does not read is dropped when more waits for it than the client keeps")
{
    asio::io_context io;
    peers_end owner(io), waiting(io);
    const auto stranger = connect_from("127.0.0.2", owner.port());
    const int little = 1024;
    REQUIRE(::setsockopt(stranger.get(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little) == 0);
    std::vector<peers_end::node> nodes;
    for (int i = 0; i < 1'000; ++i) {
        nodes.push_back(owner.offered());
        say(stranger.get(), subscription(nodes.back().commitment));
    }
    run_until(io, [&] { return owner.awaited.size() == nodes.size(); });
    std::size_t published = 0;
    while (published < nodes.size() && owner.counted().connected_from == 1) {
        std::vector<store::node_secret> never_told(store::most_nodes_before);
        for (std::size_t i = 0; i < never_told.size(); ++i)
            never_told[i] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(published),
                             static_cast<std::uint8_t>(published >> 8), 1};
        owner.publish(nodes[published++], never_told); // 300 bytes
    }
    CHECK(owner.counted().connected_from == 0);
    CHECK(published > 200); // the client keeps 64 KiB, beside the kernel
    CHECK_FALSE(owner->awaited(nodes.back()));
    const auto node = awaited_node(io, owner, waiting);
    owner.publish(node);
    run_until(io, [&] { return !waiting.heard.empty(); });
}

TEST_CASE("who subscribes and unsubscribes without end is hung up on, and the owner is told a bounded number of times")
{
    asio::io_context io;
    peers_end owner(io);
    const auto node = owner.offered();
    const auto stranger = connect_from("127.0.0.2", owner.port());
    std::string both = subscription(node.commitment);
    peering::append(both, peering::wish_frame{peering::wish::unsubscribe, peering::id_of(node.commitment).value()});
    std::string many;
    for (int i = 0; i < 2'000; ++i)
        many += both;
    say(stranger.get(), many);
    run_until(io, [&] { return take(stranger.get()).ended; });
    CHECK(owner.awaited.size() < 2'000);
}

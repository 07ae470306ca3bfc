// sanitizers: none
// program: requests
// Hosts that have addresses of one family only, but for the loopback's: the C client resolves each address that it is
// given, and knows only the families in which the machine has one.
#include "integration/bridge_client.hpp"
#include "support/own_network.hpp"
#include "support/own_sockets.hpp"

#include <arpa/inet.h>
#include <linux/ipv6.h>
#include <netdb.h>

using namespace zklock::test;

namespace {

constexpr const char* own_ipv4 = "10.0.0.1";
constexpr const char* own_ipv6 = "fd00::1";

/// A network of one's own, whose loopback has an address of one family that counts, and none of the other.
class network_of_one_family : public own_network {
public:
    explicit network_of_one_family(int family) { add(family == AF_INET6 ? &add_ipv6 : &add_ipv4); }

private:
    static bool add_ipv4()
    {
        ifreq second{};
        std::strcpy(second.ifr_name, "lo:1");
        auto* const address = reinterpret_cast<sockaddr_in*>(&second.ifr_addr);
        address->sin_family = AF_INET;
        return ::inet_pton(AF_INET, own_ipv4, &address->sin_addr) == 1 &&
               ::ioctl(asking(AF_INET).get(), SIOCSIFADDR, &second) == 0;
    }
    static bool add_ipv6()
    {
        in6_ifreq address{};
        address.ifr6_prefixlen = 128;
        address.ifr6_ifindex = 1; // the loopback is the first of each namespace
        return ::inet_pton(AF_INET6, own_ipv6, &address.ifr6_addr) == 1 &&
               ::ioctl(asking(AF_INET6).get(), SIOCSIFADDR, &address) == 0;
    }
};

bool is_known_family(const char* address)
{
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_ADDRCONFIG; // as the C client asks
    hints.ai_socktype = SOCK_STREAM;
    const bool known = ::getaddrinfo(address, "1", &hints, &found) == 0;
    if (known)
        ::freeaddrinfo(found);
    return known;
}

server_options on_all_addresses()
{
    server_options options;
    options.config.emplace_back("clientPortAddress=::");
    return options;
}

client_options patient(const std::string& servers)
{
    return options_for(servers, 60s); // a server's restart fits in
}

} // namespace

TEST_CASE("without IPv4: connected at the start, and again with the same session after the server's restart")
{
    network_of_one_family alone(AF_INET6);
    if (!alone.made())
        return;
    REQUIRE_FALSE(is_known_family("127.0.0.1"));
    REQUIRE(is_known_family("::1"));
    zookeeper_server server(on_all_addresses());
    for (const std::string host : {"[::1]:", "[fd00::1]:"}) {
        CAPTURE(host);
        connected_bridge_client c{patient(host + std::to_string(server.port()))};
        const auto session = c.session;
        CHECK(c.create("/kept", node_kind::ephemeral).result == outcome::ok);
        server.restart();
        c.wait_connected(2);
        CHECK(c.session == session);
        CHECK_FALSE(c.was_renewed);
        CHECK(c.get("/kept").stat.ephemeral_owner == session);
        c.close();
    }
}

TEST_CASE("without IPv4: of two servers one is dead, and the other is found at once")
{
    network_of_one_family alone(AF_INET6);
    if (!alone.made())
        return;
    zookeeper_server server(on_all_addresses());
    port_lease dead;
    for (const std::string host : {"[::1]:", "[fd00::1]:"}) {
        CAPTURE(host);
        auto options = patient(host + std::to_string(dead.port()) + ",[::1]:" + std::to_string(server.port()));
        options.connect_backoff = options.connect_backoff_limit = 60s; // so that a whole cycle in vain would be noticed
        for (int i = 0; i < 10; ++i) {                                 // the order is left to chance
            bridge_client c{options};
            const auto start = steady_clock::now();
            c.wait_connected();
            CHECK(steady_clock::now() - start < 20s); // half of the back-off
            c.close();
        }
    }
}

TEST_CASE("without IPv4: a send that fails leaves no request in the library, and the session goes on")
{
    network_of_one_family alone(AF_INET6);
    if (!alone.made())
        return;
    zookeeper_server server(on_all_addresses());
    connected_bridge_client c{patient("[::1]:" + std::to_string(server.port()))};
    const auto session = c.session;
    for (std::size_t round = 0; round < 5; ++round) {
        const auto sockets = sockets_to(server.port());
        REQUIRE(sockets.size() == 2); // the library's and Asio's
        ::shutdown(sockets[0], SHUT_WR);
        int unknown = 0;
        for (int i = 0; i < 3; ++i)
            c.store().create("/lost", "", node_kind::ephemeral, nullptr,
                             [&](const store::create_reply& r) { unknown += r.result == outcome::unknown; });
        c.wait_connected(round + 2);
        CHECK(unknown == 3);
        CHECK(c.session == session);
        CHECK(c.exists("/lost").result == outcome::no_node);
        CHECK(c.sync("/") == outcome::ok);
    }
    c.close();
}

TEST_CASE("without IPv6: a server at the loopback's IPv6 address is reached, and again after its restart")
{
    network_of_one_family alone(AF_INET);
    if (!alone.made())
        return;
    REQUIRE_FALSE(is_known_family("::1"));
    zookeeper_server server(on_all_addresses());
    connected_bridge_client c{patient("[::1]:" + std::to_string(server.port()))};
    const auto session = c.session;
    server.restart();
    c.wait_connected(2);
    CHECK(c.session == session);
    CHECK(c.sync("/") == outcome::ok);
    c.close();
}

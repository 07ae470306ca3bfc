// sanitizers: none
// program: bridge_replaced
// replaces: zookeeper_init2 zoo_set_servers
// The C client is never told where a server is: it is pointed at a port on which nobody can listen, and given
// connections that were made elsewhere. So nothing that it does by itself can reach anybody.
#include "integration/bridge_client.hpp"
#include "support/proxy.hpp"
#include "support/replaced_c_client.hpp"

#include <charconv>

#include <arpa/inet.h>
#include <sys/socket.h>

using namespace zklock::test;
using bridge::decoy;

namespace {

std::vector<std::string> told; ///< to the C client, as its servers

sockaddr_in loopback_port_of(const std::string& address)
{
    const auto colon = address.rfind(':');
    std::uint16_t port = 0;
    std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port);
    return to;
}

bool refuses(const std::string& address)
{
    const sockaddr_in to = loopback_port_of(address);
    const unique_fd caller{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    return ::connect(caller.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == -1 && errno == ECONNREFUSED;
}

} // namespace

// Called by the bridge.
extern "C" {
void* init(const char* host, void (*watcher)(), int timeout, const void* id, void* context, int flags, void (*log)())
    ZKLOCK_REPLACES(zookeeper_init2);
void* real_init(const char* host, void (*watcher)(), int timeout, const void* id, void* context, int flags,
                void (*log)()) ZKLOCK_REPLACED(zookeeper_init2);
int set_servers(void* handle, const char* hosts) ZKLOCK_REPLACES(zoo_set_servers);
int real_set_servers(void* handle, const char* hosts) ZKLOCK_REPLACED(zoo_set_servers);

void* init(const char* host, void (*watcher)(), int timeout, const void* id, void* context, int flags, void (*log)())
{
    told.emplace_back(host);
    return real_init(host, watcher, timeout, id, context, flags, log);
}

int set_servers(void* handle, const char* hosts)
{
    told.emplace_back(hosts);
    return real_set_servers(handle, hosts);
}
}

TEST_CASE("a decoy's port is its own, and nobody listens there")
{
    decoy one{decoy::family::ipv4};
    REQUIRE(one.bind());
    const std::string address = one.address();
    CHECK(address.starts_with("127.0.0.1:"));
    REQUIRE(one.bind());
    CHECK(one.address() == address);
    CHECK(refuses(address));

    const sockaddr_in same = loopback_port_of(address);
    const unique_fd other{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    CHECK(::bind(other.get(), reinterpret_cast<const sockaddr*>(&same), sizeof same) == -1);
    CHECK(errno == EADDRINUSE);

    decoy another{decoy::family::ipv4};
    REQUIRE(another.bind());
    CHECK(another.address() != address);
}

TEST_CASE("whatever becomes of its connections, the C client knows of decoys only")
{
    told.clear();
    proxy between{server().port()};
    connected_bridge_client c{options_for(between.address())};
    for (std::size_t round = 1; round <= 3; ++round) {
        between.cut();
        c.wait_connected(round + 1);
        CHECK(c.sync("/") == outcome::ok);
    }
    REQUIRE_FALSE(told.empty());
    for (const std::string& address : told) {
        CAPTURE(address);
        CHECK(refuses(address));
    }
    close_clean(c);
}

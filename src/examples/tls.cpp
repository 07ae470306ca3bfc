// SPDX-License-Identifier: Apache-2.0
// TLS: everything that is said to the servers is encrypted, and only servers with a certificate of that authority are
// spoken to. The servers need a port for it; the user's guide tells how (include/zklock/guide/tls.md).
//
//     tls SERVERS AUTHORITY.pem [OWN.pem [OWN.key]]
#include <boost/asio.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<int> work(zklock::client zk)
{
    zklock::mutex lock(zk, "/examples/tls");
    auto held = co_await lock.acquire(5s);
    if (!held) {
        // errc::tls_failed tells it apart from a lock that others hold. The reasons are OpenSSL's, one for each server.
        std::cerr << "no lock: " << held.error().message() << '\n';
        if (const auto why = lock.last_timeout())
            for (const auto& server : why->addresses)
                std::cerr << server.address << ": " << server.why << '\n';
        co_return held.error() == zklock::errc::tls_failed ? 3 : 1;
    }
    std::cout << "held over TLS, with token " << held.value().fencing_token() << '\n';
    co_return 0;
}

asio::awaitable<int> program(zklock::client zk)
{
    const int status = co_await work(zk);
    static_cast<void>(co_await zk.close());
    co_return status;
}

int main(int count, char** arguments)
try {
    if (count < 3 || count > 5) {
        std::cerr << "usage: tls SERVERS AUTHORITY.pem [OWN.pem [OWN.key]]\n";
        return 2;
    }
    asio::io_context io;
    zklock::client_options options;
    options.servers = arguments[1]; // the ports for TLS: zk1.example.com:2281,zk2.example.com:2281
    options.tls.enabled = true;
    options.tls.ca_file = arguments[2];
    if (count > 3) { // servers that want a certificate of their clients take it as an identity, too
        options.tls.certificate_file = arguments[3];
        options.access = zklock::acl::creator_all;
    }
    if (count > 4)
        options.tls.key_file = arguments[4];
    auto status = asio::co_spawn(io, program(zklock::client(io, options)), asio::use_future);
    io.run();
    return status.get();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}

#include "servers/ticker.hpp"

#include "support/admin_client.hpp"

#include <chrono>
#include <deque>
#include <exception>
#include <iostream>
#include <utility>

namespace zklock::bench {

ticker::ticker(std::vector<std::uint16_t> ports)
    : ports_(std::move(ports)), thread_([this](const std::stop_token& stop) { tick(stop); })
{
}

void ticker::tick(const std::stop_token& stop)
try {
    std::deque<test::admin_client> clients;
    for (const auto port : ports_)
        clients.emplace_back(port);
    std::unique_lock lock{mutex_};
    while (!stopped_.wait_for(lock, stop, std::chrono::milliseconds{250}, [&] { return stop.stop_requested(); }))
        for (auto& client : clients)
            static_cast<void>(client.exists("/"));
} catch (const std::exception& e) {
    std::cerr << "the servers are not asked any more: " << e.what() << std::endl;
}

} // namespace zklock::bench

// bench_servers MEMBERS [DISTANCE_US | tls | outages] [data=FOLDER]: starts so many ZooKeeper servers, tells their
// addresses, the leader first, and stops them when standard input ends. With a distance, a second line tells the
// addresses of relays to them, through which every byte takes that long each way. With tls there is one server, a
// second line tells the address of its port for TLS, and a third the file of the authority that has signed its
// certificate. With outages there is one server, a second line tells the address of a relay to it that counts, and
// standard input says what becomes of the server (servers/outages.hpp). With a folder, the servers' data are there, and
// every write is on the disk before it is answered, as is usual; otherwise they are in memory.
#include "servers/outages.hpp"
#include "servers/relay.hpp"
#include "servers/ticker.hpp"
#include "support/certificate_authority.hpp"
#include "support/zookeeper_ensemble.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace zklock::test;

namespace {

/// Takes what begins so out of the arguments.
std::string take(std::vector<std::string>& arguments, std::string_view prefix)
{
    const auto found = std::find_if(arguments.begin(), arguments.end(),
                                    [&](const std::string& text) { return text.starts_with(prefix); });
    if (found == arguments.end())
        return {};
    const auto rest = found->substr(prefix.size());
    arguments.erase(found);
    return rest;
}

server_options bench_options(const std::string& folder)
{
    server_options options;
    options.tick_time = milliseconds{2'000};
    options.heap = "1g";
    options.java = {"-XX:TieredStopAtLevel=4"}; // here speed matters more than the start
    options.parent = folder;
    if (!folder.empty())
        options.config = {"forceSync=yes"};
    return options;
}

template <class Range> void print(const Range& addresses)
{
    for (const auto& address : addresses)
        std::cout << address << ' ';
    std::cout << std::endl;
}

} // namespace

int main(int argc, char** argv)
try {
    std::vector<std::string> arguments(argv + 1, argv + argc);
    auto options = bench_options(take(arguments, "data="));
    if (arguments.empty())
        throw std::runtime_error("usage: bench_servers MEMBERS [DISTANCE_US | tls | outages] [data=FOLDER]");
    const auto members = static_cast<std::size_t>(std::stoul(arguments[0]));
    const std::string special = arguments.size() > 1 ? arguments[1] : "";
    const bool tls = special == "tls";
    const bool outages = special == "outages";
    if ((tls || outages) && members != 1)
        throw std::runtime_error(special + " is for one server");
    if (tls)
        options.secure.emplace().tls_1_3 = true;
    std::optional<zookeeper_server> one;
    std::optional<zookeeper_ensemble> several;
    std::vector<std::uint16_t> ports;
    if (members == 1) {
        ports.push_back(one.emplace(options).port());
    } else {
        ports = several.emplace(members, options).ports();
        const auto leader = static_cast<std::ptrdiff_t>(several->leader());
        std::rotate(ports.begin(), ports.begin() + leader, ports.end());
    }
    std::vector<std::string> addresses;
    for (const auto port : ports)
        addresses.push_back("127.0.0.1:" + std::to_string(port));
    print(addresses);

    if (tls) {
        print(std::vector{one->secure_address()});
        print(std::vector{usual_authority().file()});
    }
    if (outages) {
        zklock::bench::traffic counted;
        const zklock::bench::relay relay{ports.front(), {}, &counted};
        print(std::vector{relay.address()});
        zklock::bench::serve_outages(*one, counted);
        return 0;
    }
    std::deque<zklock::bench::relay> relays;
    if (!special.empty() && !tls) {
        std::vector<std::string> distant;
        for (const auto port : ports)
            distant.push_back(relays.emplace_back(port, std::chrono::microseconds{std::stol(special)}).address());
        print(distant);
    }
    std::optional<zklock::bench::ticker> company;
    if (members > 1)
        company.emplace(ports);

    for (std::string line; std::getline(std::cin, line);) {
    }
    return 0;
} catch (const std::exception& e) {
    std::cerr << e.what() << std::endl;
    return 1;
}

#include "servers/outages.hpp"

#include <iostream>
#include <stdexcept>
#include <string>

namespace zklock::bench {

namespace {

/// Returns when it was done.
std::chrono::milliseconds obey(const std::string& word, test::zookeeper_server& server, traffic& counted)
{
    const auto asked = counted.elapsed();
    if (word == "kill") {
        server.kill();
        return asked;
    }
    if (word == "pause") {
        server.pause();
        return asked;
    }
    if (word == "count") {
        counted.begin();
    } else if (word == "start") {
        server.start();
        server.wait_serving();
    } else if (word == "resume") {
        server.resume();
    } else {
        throw std::runtime_error("nothing that can be done with a server: " + word);
    }
    return counted.elapsed();
}

} // namespace

void serve_outages(test::zookeeper_server& server, traffic& counted)
{
    for (std::string word; std::getline(std::cin, word);) {
        if (word == "counts") {
            for (const auto& [connects, requests] : counted.intervals())
                std::cout << connects << ',' << requests << ' ';
            std::cout << std::endl;
        } else {
            std::cout << obey(word, server, counted).count() << std::endl;
        }
    }
}

} // namespace zklock::bench

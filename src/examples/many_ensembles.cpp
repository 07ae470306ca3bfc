// SPDX-License-Identifier: Apache-2.0
// A service that has outgrown one ensemble: its paths are spread over several, with one client for each. (README.md
// beside this tells when that is needed, and what it costs: it is rarely needed.)
//
//     many_ensembles NAME=SERVERS...      such as north=zk1:2181,zk2:2181,zk3:2181 south=zk4:2181,zk5:2181,zk6:2181
#include <boost/asio.hpp>
#include <zklock/zklock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Which ensemble a path belongs to, by rendezvous hashing: each ensemble gets a weight for the path, and the heaviest
// has it. When one is added, only the paths that go to it move; when one is taken away, only its own.
class spread_locks {
public:
    // The name is what counts, not the addresses: servers may be replaced. So no two may have the same name.
    void add(std::string name, zklock::client zk) { ensembles_.emplace_back(std::move(name), std::move(zk)); }
    [[nodiscard]] bool has(std::string_view name) const
    {
        return std::any_of(ensembles_.begin(), ensembles_.end(), [&](const ensemble& e) { return e.first == name; });
    }

    [[nodiscard]] const std::string& ensemble_of(std::string_view path) const { return of(path).first; }
    [[nodiscard]] zklock::mutex mutex(const std::string& path) const { return zklock::mutex(of(path).second, path); }

    asio::awaitable<void> close()
    {
        for (auto& [name, zk] : ensembles_)
            static_cast<void>(co_await zk.close());
    }

private:
    using ensemble = std::pair<std::string, zklock::client>;

    [[nodiscard]] const ensemble& of(std::string_view path) const
    {
        return *std::max_element(ensembles_.begin(), ensembles_.end(), [&](const ensemble& a, const ensemble& b) {
            return weight(a.first, path) < weight(b.first, path);
        });
    }

    // All programs that share the locks have to agree on it; so it is not std::hash, which differs between libraries.
    // FNV-1a, and then the mixing of MurmurHash3, without which similar names would weigh alike.
    static std::uint64_t weight(std::string_view name, std::string_view path)
    {
        std::uint64_t h = 0xcbf29ce484222325;
        const auto add = [&](std::string_view text) {
            for (const char c : text)
                h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
        };
        add(name);
        add("=");
        add(path);
        h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
        h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
        return h ^ (h >> 33);
    }

    std::vector<ensemble> ensembles_;
};

asio::awaitable<bool> work(const spread_locks& locks)
{
    std::map<std::string, int> held_by_ensemble;
    for (int i = 0; i < 100; ++i) {
        const std::string path = "/shop/article-" + std::to_string(i);
        zklock::mutex lock = locks.mutex(path);
        auto held = co_await lock.acquire(5s); // not to be had if that ensemble is down; the others do not matter
        if (!held) {
            std::cerr << locks.ensemble_of(path) << ": " << held.error().message() << '\n';
            co_return false;
        }
        std::cout << locks.ensemble_of(path) << ' ' << held.value().node() << '\n';
        ++held_by_ensemble[locks.ensemble_of(path)];
    }
    for (const auto& [name, count] : held_by_ensemble)
        std::cout << name << ": " << count << " locks\n";
    co_return true;
}

asio::awaitable<int> program(spread_locks locks)
{
    const bool well = co_await work(locks);
    co_await locks.close();
    co_return well ? 0 : 1;
}

int main(int count, char** arguments)
try {
    asio::io_context io; // one thread serves all the clients
    spread_locks locks;
    for (int i = 1; i < count; ++i) {
        const std::string ensemble = arguments[i];
        const auto equals = ensemble.find('=');
        if (equals == std::string::npos || equals == 0) {
            std::cerr << "usage: many_ensembles NAME=SERVERS...\n";
            return 2;
        }
        const std::string name = ensemble.substr(0, equals);
        if (locks.has(name)) {
            std::cerr << "two ensembles are called " << name << '\n';
            return 2;
        }
        zklock::client_options options;
        options.servers = ensemble.substr(equals + 1);
        locks.add(name, zklock::client(io, options));
    }
    if (count < 2) {
        std::cerr << "usage: many_ensembles NAME=SERVERS...\n";
        return 2;
    }
    auto status = asio::co_spawn(io, program(std::move(locks)), asio::use_future);
    io.run();
    return status.get();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}

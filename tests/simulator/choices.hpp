#pragma once
#include <cstdint>

namespace zklock::simulator {

/// Everything random of one schedule, as a pure function of its seed. Each purpose draws from a stream of its own, so
/// that leaving one step or fault out of a failing schedule disturbs as little as possible of the rest.
class choices {
public:
    enum class stream : std::uint32_t {
        plan,
        to_server,
        to_client,
        fate,
        link,
        connect,
        process,
        operation,
        memory,
        peers,
        handle
    };

    explicit choices(std::uint64_t seed) : seed_(seed) {}

    /// A number in [0, limit); 0 when limit is 0 or 1.
    std::uint64_t below(std::uint64_t limit, stream purpose, std::uint32_t owner = 0)
    {
        if (limit <= 1)
            return 0;
        const auto wide = static_cast<wide_integer>(next(purpose, owner)) * limit;
        return static_cast<std::uint64_t>(wide >> 64);
    }

    bool one_in(std::uint64_t n, stream purpose, std::uint32_t owner = 0) { return below(n, purpose, owner) == 0; }

    std::uint64_t next(stream purpose, std::uint32_t owner = 0)
    {
        auto& state = states_[static_cast<std::uint32_t>(purpose) % purposes][owner % owners];
        state += 0x9e3779b97f4a7c15ULL;
        const auto position = (static_cast<std::uint64_t>(purpose) << 8) + owner;
        return mix(mix(seed_ ^ (position * 0xd1342543de82ef95ULL)) + state);
    }

private:
    __extension__ using wide_integer = unsigned __int128;
    static constexpr std::uint32_t purposes = 11; // as many as stream has
    static constexpr std::uint32_t owners = 16;

    /// The finalizer of splitmix64.
    static std::uint64_t mix(std::uint64_t x)
    {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
        return x ^ (x >> 31);
    }

    std::uint64_t seed_;
    std::uint64_t states_[purposes][owners] = {};
};

} // namespace zklock::simulator

#pragma once
#include "bridge/peers/addresses.hpp"
#include "bridge/peers/token_bucket.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <utility>

namespace zklock::bridge::peering {

/// Whether the client may connect to an endpoint that others have written into a node. They may write what they like,
/// and write again: whatever they do, it connects within the listed networks only, and no more often than this says.
class connect_bounds {
public:
    static constexpr std::size_t most_connections = 64; ///< those under way included
    static constexpr std::size_t most_under_way = 8;
    static constexpr std::chrono::seconds endpoint_each{5};
    static constexpr int most_at_once = 64;
    static constexpr std::chrono::milliseconds connect_each{250};

    explicit connect_bounds(networks within) : within_(std::move(within)) {}

    [[nodiscard]] bool in_network(const endpoint& to) const { return to.port() != 0 && within_.contain(to.address()); }
    /// Whether a connection has to end before there may be another.
    [[nodiscard]] bool full() const noexcept { return connections_ >= most_connections; }

    /// Whether it could connect now, if there were not too many connections.
    [[nodiscard]] bool permit(const endpoint& to, time_point now);
    /// Whether to connect now; if so, that is an attempt that is under way.
    [[nodiscard]] bool begin(const endpoint& to, time_point now);
    /// The attempt has led to a greeting.
    void connected() noexcept { --under_way_; }
    /// A connection is no more, whether it ever was greeted or not.
    void ended(bool was_connected) noexcept
    {
        --connections_;
        if (!was_connected)
            --under_way_;
    }

private:
    struct attempt {
        endpoint to;
        time_point when;
    };

    const networks within_;
    std::size_t connections_ = 0;
    std::size_t under_way_ = 0;
    token_bucket attempts_{most_at_once, connect_each};
    std::deque<attempt> tried_; ///< in the last seconds, so the bucket bounds them
};

/// Whether somebody may have one of the places for connections that others make.
///
/// An address has a share, of the places and of how often one is taken. Who is over it costs those of other addresses
/// nothing; nor does who leaves without having been of use: how many come in all is the acceptor's to bound.
class inbound_places {
public:
    static constexpr std::size_t most = 256;
    static constexpr int most_at_once = 256;
    static constexpr std::chrono::milliseconds entry_each{8};
    /// One address may have so many, or one IPv6 network of 64 bits, whose addresses one machine has for the asking.
    static constexpr std::size_t most_of_an_address = 16;
    /// Those who lose all places of an address at the same time may come back at once, some times.
    static constexpr int most_at_once_of_an_address = 4 * most_of_an_address;
    static constexpr std::chrono::milliseconds entry_each_of_an_address{32};

    enum class answer {
        granted,
        over_share, ///< its address is
        all_taken,
        too_fast ///< too many have come lately, of all addresses
    };
    [[nodiscard]] answer take(const address& of, time_point now);
    void give_back(const address& of, bool was_useful);
    [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
    /// For tests.
    [[nodiscard]] std::size_t addresses_remembered() const noexcept { return of_each_.size(); }

private:
    /// More than can have a place, or have had one so lately that their share is not whole again.
    static constexpr std::size_t most_remembered = 1024;
    struct share {
        std::size_t taken = 0;
        token_bucket entries{most_at_once_of_an_address, entry_each_of_an_address};
    };

    [[nodiscard]] static address counted_as(const address& of);

    std::map<address, share> of_each_;
    token_bucket entries_{most_at_once, entry_each};
    std::size_t taken_ = 0;
};

} // namespace zklock::bridge::peering

#pragma once
#include "bridge/names/host_list.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <netinet/in.h>

namespace zklock::bridge {

/// An address of a server, in each form that somebody needs. No text is read back.
struct server_address {
    using clock = std::chrono::steady_clock;

    std::string text;             ///< for people: `10.0.0.1:2181`, `[::1]:2181`. No other address has the same
    std::vector<host_port> given; ///< what the user calls it: each name that leads here, and the address itself
    union {
        sockaddr any;
        sockaddr_in ipv4;
        sockaddr_in6 ipv6;
    } socket{}; ///< where to connect
    /// When its names were asked, the last time that an answer led here. For one in the list itself: always.
    clock::time_point asked = clock::time_point::max();
    /// Since when a name that led here then has been asked in vain, if it has: nobody could be asked.
    std::optional<clock::time_point> unanswered_since{};
};

/// It does not change, and is shared by all who know of it.
using address_ptr = std::shared_ptr<const server_address>;

/// Where the same address is in there, perhaps with other names.
template <class Addresses> [[nodiscard]] auto find_same(Addresses& in, const server_address& address)
{
    return std::ranges::find(in, address.text, &server_address::text);
}

} // namespace zklock::bridge

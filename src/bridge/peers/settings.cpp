#include "bridge/peers/settings.hpp"

namespace zklock::bridge::peering {

bool read_advertised(const std::string& text, settings& into)
{
    if (text.empty())
        return true;
    if (const auto whole = parse_endpoint(text)) {
        into.advertised = whole->address();
        into.advertised_port = whole->port();
    } else {
        into.advertised = parse_address(text);
    }
    return into.advertised && is_reachable_by_others(*into.advertised) && into.advertised_port != 0;
}

std::optional<settings> settings_of(const handoff_options& options)
{
    const auto listen = parse_endpoint(options.listen);
    if (!listen)
        return std::nullopt;
    settings read{*listen, {}, {}, {}};
    if (!read_advertised(options.advertise, read))
        return std::nullopt;
    for (const auto& each : options.peers) {
        const auto parsed = parse_network(each);
        if (!parsed)
            return std::nullopt;
        read.peers.push_back(*parsed);
    }
    return read;
}

} // namespace zklock::bridge::peering

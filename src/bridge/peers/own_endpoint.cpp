#include "bridge/peers/own_endpoint.hpp"

#include <utility>

namespace zklock::bridge::peering {

own_endpoint::own_endpoint(const settings& read, local_address local, const store::logger& log)
    : settings_(read), local_address_(std::move(local)), log_(log)
{
}

std::string_view own_endpoint::text(const endpoint& bound)
{
    std::optional<address> at = settings_.advertised;
    if (!at)
        at = bound.address().is_unspecified() ? local_address_() : bound.address();
    if (!at)
        return {};
    const endpoint now(*at, settings_.advertised_port.value_or(bound.port()));
    if (told_ != now)
        take(now, bound);
    return text_;
}

void own_endpoint::take(const endpoint& now, const endpoint& bound)
{
    const address at = now.address();
    // Who listens on IPv4 alone cannot be reached by the other.
    const bool of_other_kind = !settings_.advertised && bound.address().is_v4() && at.is_v6();
    const std::string text = text_of(now);
    if (of_other_kind || !is_reachable_by_others(at)) {
        text_.clear();
        log_(log_level::warning, "tells no other client to come, because they cannot reach ", text,
             of_other_kind ? ": it listens on IPv4 alone" : "", "; handoff.advertise can say where they do");
    } else {
        text_ = text;
        log_(log_level::info, "tells other clients to come to ", text,
             at.is_loopback() ? ", which those on other machines cannot reach" : "");
    }
    told_ = now;
}

} // namespace zklock::bridge::peering

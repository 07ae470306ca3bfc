#include "adapter/options_check.hpp"

#include "bridge/host_list.hpp"
#include "queue/owner_data.hpp"
#include "zklock/errc.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace zklock::detail {

namespace {

constexpr std::size_t largest_budget = 1024 * 1024;  // what the servers can read when the session ends, with room

bool valid_times(const client_options& o)
{
    using std::chrono::milliseconds;
    // Servers grant two ticks at the least; less than this leaves no time to connect in. The wire has 32 bits for it.
    constexpr milliseconds shortest_session{100};
    if (o.session_timeout < shortest_session ||
        o.session_timeout > milliseconds(std::numeric_limits<std::int32_t>::max()))
        return false;
    if (!(o.clock_drift >= 0.0 && o.clock_drift < 0.5)) // also refuses what is not a number
        return false;
    // A margin or a notice as long as the session leaves no time in which anything could be held.
    const auto margin = o.lease_margin.value_or(o.session_timeout / 4);
    if (margin < milliseconds::zero() || margin >= o.session_timeout || o.loss_notice < milliseconds::zero() ||
        o.loss_notice >= o.session_timeout - margin)
        return false;
    return o.connect_backoff > milliseconds::zero() && o.connect_backoff_limit >= o.connect_backoff;
}

bool valid_identity(const client_options& o)
{
    const bool known_access =
        o.access == acl::open || o.access == acl::creator_all || o.access == acl::creator_all_or_read;
    return known_access && std::ranges::none_of(o.auth, [](const credentials& c) { return c.scheme.empty(); }) &&
           queue::valid_owner_data(o.identifier, {});
}

} // namespace

error_code check(const client_options& o)
{
    if (const auto servers = bridge::parse_servers(o.servers); !servers)
        return servers.error();
    if (const auto chroot = bridge::parse_chroot(o.chroot); !chroot)
        return chroot.error();
    if (!valid_times(o) || !valid_identity(o) || o.node_budget == 0 || o.node_budget > o.node_budget_limit ||
        o.node_budget_limit > largest_budget)
        return make_error_code(errc::invalid_option);
    return {};
}

} // namespace zklock::detail

#include "adapter/options_check.hpp"

#include "bridge/host_list.hpp"
#include "queue/owner_data.hpp"
#include "recipes/session/lease.hpp"
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
    static constexpr milliseconds longest_session{std::numeric_limits<std::int32_t>::max()};
    if (o.session_timeout < shortest_session || o.session_timeout > longest_session)
        return false;
    if (!(o.clock_drift >= 0.0 && o.clock_drift < 0.5)) // also refuses what is not a number
        return false;
    // Kept below the longest session, so that sums of them are numbers.
    const auto in_range = [](milliseconds t) { return t >= milliseconds::zero() && t <= longest_session; };
    if (o.server_tick == milliseconds::zero() || !in_range(o.server_tick) || !in_range(o.loss_notice) ||
        !in_range(o.lease_margin.value_or(milliseconds::zero())))
        return false;
    // Servers grant two ticks at the least, if nobody has told them otherwise: what they grant is looked at later.
    const recipes::lease_times times{o.clock_drift, o.session_timeout / 4, o.lease_margin, o.loss_notice,
                                     o.session_timeout};
    if (!times.possible())
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

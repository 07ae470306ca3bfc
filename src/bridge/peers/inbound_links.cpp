#include "bridge/peers/inbound_links.hpp"

#include <utility>

#include <sys/socket.h>

namespace zklock::bridge::peering {

inbound_links::inbound_links(links_owner& whose, offers& all, const store::logger& log,
                             counters::handoff_counters& counted)
    : links(whose), offers_(all), log_(log), counted_(counted)
{
}

void inbound_links::add(runtime::unique_fd descriptor, const endpoint& from)
{
    const auto now = lease_clock::now();
    const auto answer = places_.take(from.address(), now);
    if (answer != inbound_places::answer::granted)
        return turn_away(std::move(descriptor), from, answer, now);
    const peer_id peer = ++last_id_;
    const auto made = make_link(peer);
    if (made->adopt(from.protocol(), std::move(descriptor))) { // no room in Asio's set: a connection less
        made->close();
        return places_.give_back(from.address(), false);
    }
    inbound greets(offers_, peer, now, made->out());
    auto& added = all().emplace(peer, inbound_link{{made, std::move(greets)}, from.address()}).first->second;
    flush_soon(peer, added);
    counted_.connected_from.add();
    owner().look_at_all_later();
}

void inbound_links::turn_away(runtime::unique_fd descriptor, const endpoint& from, inbound_places::answer why,
                              time_point now)
{
    const linger at_once{1, 0}; // or the kernel would remember each of a flood for a minute
    (void)::setsockopt(descriptor.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    descriptor.reset();
    const bool over_share = why == inbound_places::answer::over_share;
    (over_share ? counted_.over_share : counted_.refused).add();
    if (!log_.on(log_level::warning))
        return;
    const auto left_out = refusals_told_.say(now);
    if (!left_out)
        return;
    const bool too_fast = why == inbound_places::answer::too_fast;
    log_(log_level::warning, "hangs up on ", text_of(from), ": ",
         over_share ? "too many connections are from its address, or have come from there in this moment; "
         : too_fast ? "too many have come in this moment; "
                    : "",
         places_.taken(), " other clients are connected", store::times_left_out{*left_out});
}

void inbound_links::came(peer_id peer, bytes in)
{
    const auto found = all().find(peer);
    if (found == all().end())
        return;
    std::vector<node_id> awaited;
    auto& [to, says, to_flush] = static_cast<linked<inbound>&>(found->second);
    if (says.receive(in, lease_clock::now(), to->out(), awaited) == verdict::hang_up)
        refuse(peer);
    else if (!to->out().empty())
        flush_soon(peer, found->second);
    for (const node_id& each : awaited)
        if (owner().alive() && offers_.awaited(each))
            owner().observer().on_awaited(text_of(each));
}

void inbound_links::hang_up(const peer_id& peer) noexcept
{
    all().at(peer).says.is_useful() ? drop(peer) : refuse(peer);
}

/// It does not talk as clients do.
void inbound_links::refuse(peer_id peer) noexcept
{
    counted_.refused.add();
    drop(peer);
}

void inbound_links::drop(const peer_id& peer) noexcept
{
    const auto found = all().find(peer);
    if (found == all().end())
        return;
    found->second.to->close();
    offers_.forget(peer);
    places_.give_back(found->second.from, found->second.says.is_useful());
    all().erase(found);
    counted_.connected_from.subtract_one();
}

void inbound_links::answer(const std::vector<peer_id>& subscribers, std::span<const store::node_secret> told)
{
    for (const peer_id peer : subscribers) {
        const auto found = all().find(peer);
        if (found == all().end())
            continue;
        found->second.says.answered();
        flush_soon(peer, found->second);
        found->second.says.tell(told, found->second.to->out());
    }
}

} // namespace zklock::bridge::peering

// Those who connect to us: what they subscribe to, and what they are told.
#include "bridge/peers/network_peers.hpp"

#include <boost/system/system_error.hpp>

#include <exception>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace zklock::bridge::peering {

void network_peers::accepted(int descriptor, const peering::endpoint& from)
{
    const auto now = lease_clock::now();
    const auto answer = places_.take(from.address(), now);
    if (answer != inbound_places::answer::granted)
        return turn_away(descriptor, from, answer, now);
    struct until_adopted {
        ~until_adopted()
        {
            if (descriptor != -1)
                ::close(descriptor);
        }
        int descriptor;
    } own{descriptor};
    const peer_id peer = ++last_id_;
    const auto made = std::make_shared<link>(*strand_, turns_,
                                             link::events{[weak = weak_from_this(), peer](bytes in) {
                                                              if (const auto self = weak.lock())
                                                                  self->came_in(peer, in);
                                                          },
                                                          [weak = weak_from_this(), peer] {
                                                              if (const auto self = weak.lock())
                                                                  self->drop(peer);
                                                          }});
    try {
        made->adopt(from.protocol(), std::exchange(own.descriptor, -1));
    } catch (const boost::system::system_error&) { // no room in Asio's set: a connection less
        made->close();
        return places_.give_back(from.address());
    }
    inbounds_to_flush_.push_back(peer); // the greeting
    inbound says(offers_, peer, now, made->out());
    inbounds_.emplace(peer, inbound_peer{made, std::move(says), from.address(), true});
    counted_.connected_from.add();
    looks_due_ = true;
}

void network_peers::turn_away(int descriptor, const peering::endpoint& from, inbound_places::answer why, time_point now)
{
    const linger at_once{1, 0}; // or the kernel would remember each of a flood for a minute
    (void)::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(descriptor);
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

void network_peers::came_in(peer_id peer, bytes in)
{
    const auto found = inbounds_.find(peer);
    if (found == inbounds_.end())
        return;
    std::vector<node_id> awaited;
    auto& [to, says, from, to_flush] = found->second;
    if (says.receive(in, lease_clock::now(), to->out(), awaited) == verdict::hang_up)
        refuse(peer);
    else if (!to->out().empty())
        flush_soon(inbounds_to_flush_, peer, found->second);
    for (const node_id& each : awaited)
        if (alive() && offers_.awaited(each))
            observer_->on_awaited(text_of(each));
}

/// It does not talk as clients do.
void network_peers::refuse(peer_id peer) noexcept
{
    counted_.refused.add();
    drop(peer);
}

void network_peers::drop(peer_id peer) noexcept
{
    const auto found = inbounds_.find(peer);
    if (found == inbounds_.end())
        return;
    found->second.to->close();
    offers_.forget(peer);
    places_.give_back(found->second.from);
    inbounds_.erase(found);
    counted_.connected_from.subtract_one();
}

// ---- what we offer, and let go

store::own_node network_peers::make_node()
{
    if (ahead_.empty())
        make_ahead();
    store::own_node made = ahead_.back();
    ahead_.pop_back();
    return made;
}

/// They can be on offer ahead, because nobody can ask for a node that nobody has heard of.
void network_peers::make_ahead()
{
    for (const auto& [secret, commitment] : secrets_.make())
        put_on_offer(ahead_.emplace_back(store::own_node{secret, text_of(commitment)}), commitment);
}

void network_peers::put_on_offer(store::own_node& node, const node_id& id)
{
    if (alive())
        node.place = offers_.offer(id);
}

void network_peers::withdraw(const store::own_node& node) noexcept
{
    if (node.place == store::own_node::not_on_offer || !alive())
        return;
    try {
        answered(offers_.withdraw(node.place, lease_clock::now()), {});
    } catch (...) {
        thrown_ = std::current_exception();
    }
}

void network_peers::publish(const store::own_node& node, std::span<const store::node_secret> of_nodes_before)
{
    if (node.place == store::own_node::not_on_offer || !alive())
        return;
    const node_id id = offers_.id(node.place);
    const auto subscribers = offers_.publish(node.place, node.secret, of_nodes_before, lease_clock::now());
    if (!subscribers.empty())
        answered(subscribers, offers_.kept_secrets(id));
    send_first();
    told_.keep_first_told(node.secret, id);
}

void network_peers::answered(const std::vector<peer_id>& subscribers, std::span<const store::node_secret> told)
{
    for (const peer_id peer : subscribers) {
        const auto found = inbounds_.find(peer);
        if (found == inbounds_.end())
            continue;
        found->second.says.answered();
        flush_soon(inbounds_to_flush_, peer, found->second);
        found->second.says.tell(told, found->second.to->out());
    }
    finish_turn_later();
}

bool network_peers::awaited(const store::own_node& node) const
{
    return node.place != store::own_node::not_on_offer && offers_.awaited(node.place);
}

} // namespace zklock::bridge::peering

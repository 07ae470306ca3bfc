#include "bridge/peers/network_peers.hpp"

#include "runtime/forks.hpp"

#include <algorithm>
#include <utility>

namespace zklock::bridge::peering {

network_peers::network_peers(const runtime::strand& strand, std::shared_ptr<runtime::turns> turns,
                             store::scheduler& scheduler, settings read, const store::log_function& log,
                             counters::handoff_counters& counted, local_address local)
    : strand_(strand), turns_(std::move(turns)), scheduler_(scheduler), settings_(std::move(read)), log_function_(log),
      counted_(counted), local_address_(std::move(local)), forks_(runtime::fork_count()),
      bounds_(networks(settings_.peers))
{
}

bool network_peers::alive() const noexcept
{
    return strand_ && runtime::fork_count() == forks_;
}

void network_peers::attach(store::peers_observer& observer)
{
    observer_ = &observer;
    acceptor_ = std::make_shared<acceptor>(*strand_, turns_, settings_.listen, log_, counted_.accept_pauses,
                                           [weak = weak_from_this()](int descriptor, const peering::endpoint& from) {
                                               if (const auto self = weak.lock())
                                                   self->accepted(descriptor, from);
                                           });
    turns_->add(runtime::turns::kind::peers, weak_from_this());
    acceptor_->open(lease_clock::now());
    counted_.listens.set(acceptor_->bound() ? 1 : 0);
    finish_turn_later();
}

std::string_view network_peers::endpoint() const
{
    if (!alive() || !acceptor_ || !acceptor_->bound())
        return {};
    const peering::endpoint& bound = *acceptor_->bound();
    std::optional<address> at = settings_.advertised;
    if (!at)
        at = bound.address().is_unspecified() ? local_address_() : bound.address();
    if (!at)
        return {};
    const peering::endpoint now(*at, settings_.advertised_port.value_or(bound.port()));
    if (told_endpoint_ != now)
        take_endpoint(now, bound);
    return endpoint_text_;
}

void network_peers::take_endpoint(const peering::endpoint& now, const peering::endpoint& bound) const
{
    const address at = now.address();
    // Who listens on IPv4 alone cannot be reached by the other.
    const bool of_other_kind = !settings_.advertised && bound.address().is_v4() && at.is_v6();
    const std::string text = text_of(now);
    if (of_other_kind || !is_reachable_by_others(at)) {
        endpoint_text_.clear();
        log_(log_level::warning, "tells no other client to come, because they cannot reach ", text,
             of_other_kind ? ": it listens on IPv4 alone" : "", "; handoff.advertise can say where they do");
    } else {
        endpoint_text_ = text;
        log_(log_level::info, "tells other clients to come to ", text,
             at.is_loopback() ? ", which those on other machines cannot reach" : "");
    }
    told_endpoint_ = now;
}

// ---- turns and time

/// Sends what the turn has brought up, and looks at who is silent.
void network_peers::turn_ends()
{
    if (thrown_)
        std::rethrow_exception(std::exchange(thrown_, nullptr));
    const bool look_due = looks_due_ || acceptor_->due() < waking_;
    const bool has_sent = left_in_turn_ != most_sent_in_a_turn;
    if (!look_due && !has_sent && inbounds_to_flush_.empty() && outbounds_to_flush_.empty())
        return; // as in most turns
    if (!alive())
        return;
    send();
    if (look_due)
        look_at_all(lease_clock::now());
}

void network_peers::finish_turn_later()
{
    if (strand_ && !turns_->open())
        post_a_turn();
}

void network_peers::post_a_turn()
{
    end_of_turn_.post(*strand_, shared_from_this());
}

template <class Key, class Peer>
void network_peers::flush_some(std::deque<Key>& to_flush, std::map<Key, Peer>& peers, int& left)
{
    for (; left > 0 && !to_flush.empty(); --left) {
        const Key key = to_flush.front();
        to_flush.pop_front();
        const auto found = peers.find(key);
        if (found == peers.end())
            continue;
        found->second.to_flush = false;
        if (!found->second.to->flush())
            drop(key);
    }
}

/// What is let go first in a turn is told at once, unless many are in line already: those who wait for it are not to
/// wait for the rest of the turn, which may begin the next acquire.
void network_peers::send_first()
{
    if (left_in_turn_ == most_sent_in_a_turn)
        flush_some(inbounds_to_flush_, inbounds_, left_in_turn_);
}

/// Only to so many in a turn: the client's own requests leave at its end, too.
void network_peers::send()
{
    int to_inbounds = std::exchange(left_in_turn_, most_sent_in_a_turn);
    int to_outbounds = most_sent_in_a_turn;
    flush_some(inbounds_to_flush_, inbounds_, to_inbounds);
    flush_some(outbounds_to_flush_, outbounds_, to_outbounds);
    if (!inbounds_to_flush_.empty() || !outbounds_to_flush_.empty())
        post_a_turn();
}

void network_peers::look_at_all(time_point now)
{
    looks_due_ = false;
    acceptor_->time_passed(now);
    counted_.listens.set(acceptor_->bound() ? 1 : 0);
    for (auto next = inbounds_.begin(); next != inbounds_.end();) {
        const auto each = next++;
        inbound& says = each->second.says;
        if (says.time_passed(now) == verdict::hang_up)
            says.is_useful() ? drop(each->first) : refuse(each->first);
    }
    for (auto next = outbounds_.begin(); next != outbounds_.end();) {
        const auto each = next++;
        if (each->second.says.time_passed(now) == verdict::hang_up)
            drop(peering::endpoint(each->first));
    }
    wake_at_next();
}

/// One timer serves all. One that fires too early is set again then.
void network_peers::wake_at_next()
{
    time_point next = acceptor_->due();
    for (const auto& [id, each] : inbounds_)
        next = std::min(next, each.says.due());
    for (const auto& [to, each] : outbounds_)
        next = std::min(next, each.says.due());
    if (next >= waking_)
        return;
    scheduler_.cancel(std::exchange(timer_, 0));
    timer_ = scheduler_.call_at(next, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->timer_ = 0;
            self->waking_ = time_point::max();
            self->looks_due_ = true; // at the end of this turn
        }
    });
    waking_ = next;
}

void network_peers::stop(bool told_of_fork) noexcept
{
    if (!strand_)
        return;
    const bool to_parent = runtime::fork_count() != forks_ && !told_of_fork;
    scheduler_.cancel(std::exchange(timer_, 0));
    if (acceptor_)
        acceptor_->close(to_parent);
    for (auto& [id, each] : inbounds_)
        each.to->close(to_parent);
    for (auto& [to, each] : outbounds_)
        each.to->close(to_parent);
    inbounds_.clear();
    outbounds_.clear();
    subscribed_.clear();
    for (auto* now : {&counted_.listens, &counted_.connected_to, &counted_.connected_from})
        now->set(0);
    strand_.reset();
}

} // namespace zklock::bridge::peering

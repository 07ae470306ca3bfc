#include "bridge/peers/network_peers.hpp"

#include "runtime/forks.hpp"

#include <algorithm>
#include <utility>

namespace zklock::bridge::peering {

network_peers::network_peers(const runtime::strand& strand, std::shared_ptr<runtime::turns> turns,
                             store::scheduler& scheduler, settings read, const store::log_function& log,
                             counters::handoff_counters& counted, local_address local)
    : strand_(strand), turns_(std::move(turns)), scheduler_(scheduler), settings_(std::move(read)), log_function_(log),
      counted_(counted), forks_(runtime::fork_count()), local_address_(std::move(local))
{
}

bool network_peers::alive() const noexcept
{
    return strand_ && runtime::fork_count() == forks_;
}

std::shared_ptr<link> network_peers::make_link(link::events told)
{
    return std::make_shared<link>(*strand_, turns_, std::move(told));
}

void network_peers::attach(store::peers_observer& observer)
{
    observer_ = &observer;
    acceptor_ =
        std::make_shared<acceptor>(*strand_, turns_, settings_.listen, log_, counted_.accept_pauses,
                                   [weak = weak_from_this()](runtime::unique_fd made, const peering::endpoint& from) {
                                       if (const auto self = weak.lock())
                                           self->inbound_.add(std::move(made), from);
                                   });
    turns_->add(runtime::turns::kind::peers, weak_from_this());
    acceptor_->open(lease_clock::now());
    note_listening();
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
    if (!told_endpoint_ || told_endpoint_->is != now)
        tell_endpoint(now, bound);
    return told_endpoint_->text;
}

void network_peers::tell_endpoint(const peering::endpoint& now, const peering::endpoint& bound) const
{
    const address at = now.address();
    // Who listens on IPv4 alone cannot be reached by the other.
    const bool of_other_kind = !settings_.advertised && bound.address().is_v4() && at.is_v6();
    const std::string text = text_of(now);
    if (of_other_kind || !is_reachable_by_others(at)) {
        told_endpoint_ = {now, {}};
        log_(log_level::warning, "tells no other client to come, because they cannot reach ", text,
             of_other_kind ? ": it listens on IPv4 alone" : "", "; handoff.advertise can say where they do");
    } else {
        told_endpoint_ = {now, text};
        log_(log_level::info, "tells other clients to come to ", text,
             at.is_loopback() ? ", which those on other machines cannot reach" : "");
    }
}

// ---- our nodes, and those of others

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
    for (const auto& [secret, commitment] : secrets_.make()) {
        auto& made = ahead_.emplace_back(store::own_node{secret, text_of(commitment)});
        if (alive())
            made.place = offers_.offer(commitment);
    }
}

void network_peers::withdraw(const store::own_node& node) noexcept
{
    if (node.place == store::own_node::not_on_offer || !alive())
        return;
    try {
        inbound_.answer(offers_.withdraw(node.place, lease_clock::now()), {});
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
        inbound_.answer(subscribers, offers_.kept_secrets(id));
    send_first();
    told_.keep_first_told(node.secret, id);
}

bool network_peers::awaited(const store::own_node& node) const
{
    return node.place != store::own_node::not_on_offer && offers_.awaited(node.place);
}

void network_peers::subscribe(const store::commitment& node, std::string_view where)
{
    const auto id = id_of(node);
    if (!id || !alive())
        return;
    outbound_.unsubscribe(*id); // elsewhere
    if (const auto to = parse_endpoint(where))
        outbound_.subscribe(*id, *to);
}

void network_peers::unsubscribe(const store::commitment& node)
{
    const auto id = id_of(node);
    if (id && alive())
        outbound_.unsubscribe(*id);
}

// ---- turns and time

/// Sends what the turn has brought up, and looks at who is silent.
void network_peers::turn_ends()
{
    if (thrown_)
        std::rethrow_exception(std::exchange(thrown_, nullptr));
    const bool look_due = looks_due_ || acceptor_->due() < waking_;
    const bool has_sent = left_in_turn_ != most_sent_in_a_turn;
    if (!look_due && !has_sent && inbound_.all_flushed() && outbound_.all_flushed())
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

/// What is let go first in a turn is told at once, unless many are in line already: those who wait for it are not to
/// wait for the rest of the turn, which may begin the next acquire.
void network_peers::send_first()
{
    if (left_in_turn_ == most_sent_in_a_turn)
        inbound_.flush_some(left_in_turn_);
}

/// Only to so many in a turn: the client's own requests leave at its end, too.
void network_peers::send()
{
    int to_inbound = std::exchange(left_in_turn_, most_sent_in_a_turn);
    int to_outbound = most_sent_in_a_turn;
    inbound_.flush_some(to_inbound);
    outbound_.flush_some(to_outbound);
    if (!inbound_.all_flushed() || !outbound_.all_flushed())
        post_a_turn();
}

void network_peers::look_at_all(time_point now)
{
    looks_due_ = false;
    acceptor_->time_passed(now);
    note_listening();
    inbound_.time_passed(now);
    outbound_.time_passed(now);
    wake_at_next();
}

void network_peers::note_listening() noexcept
{
    counted_.listens.set(acceptor_->bound() ? 1 : 0);
}

/// One timer serves all. One that fires too early is set again then.
void network_peers::wake_at_next()
{
    const time_point next = std::min({acceptor_->due(), inbound_.due(), outbound_.due()});
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
    inbound_.stop(to_parent);
    outbound_.stop(to_parent);
    for (auto* now : {&counted_.listens, &counted_.connected_to, &counted_.connected_from})
        now->set(0);
    strand_.reset();
}

} // namespace zklock::bridge::peering

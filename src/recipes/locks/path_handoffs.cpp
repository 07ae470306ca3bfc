#include "recipes/locks/path_handoffs.hpp"

#include "queue/node_name.hpp"
#include "queue/owner_data.hpp"
#include "recipes/locks/lock_path.hpp"

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <utility>

namespace zklock::recipes {
namespace {

/// Nodes of others that certificates are asked for, or taken for, at one path.
constexpr std::size_t most_known = 16;
constexpr std::size_t most_asked_for = 8;

} // namespace

path_handoffs::path_handoffs(const path_part& part) : path_part(part), all_(*session_.handoffs()) {}

path_handoffs::~path_handoffs()
{
    for (const handoffs::followed each : known_)
        all_.drop(each);
    session_.catch_up().unseen_for_ever(unseen_);
}

void path_handoffs::give_way()
{
    for (const handoffs::followed each : std::exchange(known_, {}))
        all_.forget(each);
}

// --- own nodes -------------------------------------------------------------------------------------------------------

std::string path_handoffs::offer(lock_contender& contender)
{
    takes_part_ = true;
    contender.offer.reset();
    contender.offer = all_.offer();
    if (lock_.lingers())
        contender.offer->tell(*this);
    advertise(contender);
    std::string uuid;
    uuid.reserve(64); // with what the name has besides
    uuid = store::text(contender.offer->commitment());
    return uuid;
}

/// The data of its nodes say from now on where its client is.
void path_handoffs::advertise(lock_contender& contender)
{
    if (!contender.offer)
        return;
    contender.offer->data.reset();
    const std::string_view endpoint = all_.peers.endpoint();
    if (endpoint.empty())
        return;
    const std::string& own = contender.data();
    if (!advertised_.whole || advertised_.own != own || advertised_.endpoint != endpoint)
        advertised_ = {own, std::string(endpoint),
                       std::make_shared<const std::string>(queue::with_handoff(own, endpoint))};
    contender.offer->data = advertised_.whole;
}

void path_handoffs::granted(lock_contender& contender, lock_contender* before, const queue::action& how)
{
    if (before) {
        contender.offer = std::move(before->offer);
        advertise(contender); // should a reader's node follow this one
    }
    if (contender.offer)
        contender.offer->hold_begins();
    if (how.over_let_go) {
        session_.catch_up().granted_over_let_go();
        if (how.by_certificate)
            session_.counters.handoff.taken.add();
        settle();
    }
    if (how.by_certificate && session_.log.on(log_level::debug))
        log_taken(contender);
}

/// If it has not been asked for, somebody else has sent it along.
void path_handoffs::log_taken(const lock_contender& by) const
{
    const std::string_view node = queue_.known().places().passed_over_by(by.id);
    const auto found = std::ranges::find_if(known_, [node](handoffs::followed f) { return f->second.node == node; });
    const std::string_view endpoint = found == known_.end() ? std::string_view() : (*found)->second.endpoint;
    session_.log(log_level::debug, "granted ", lock_.path(),
                 " by word of who let it go, before the servers told of it: ", node, endpoint.empty() ? "" : " at ",
                 endpoint);
}

void path_handoffs::leaves(lock_contender& contender)
{
    if (!contender.offer)
        return;
    contender.offer->hold_ends();
    if (lock_.lingers() && contender.offer->awaited())
        queue_.awaited();
}

void path_handoffs::gives_up(lock_contender& contender, bool by_own_will)
{
    if (!contender.offer)
        return;
    contender.offer->hold_ends();
    if (!by_own_will || !contender.offer->held_without_writes())
        contender.offer.reset();
}

/// Those who wait hear of it before the store does: to put a request together takes time, and it is they who wait.
/// Whether the delete is done, or fails and is sent again, is all the same to them: a node that leaves never comes
/// back.
void path_handoffs::delete_goes(lock_contender& contender, std::string_view node)
{
    if (!contender.offer || !queue::has_uuid(node, contender.offer->commitment()))
        return;
    const handoffs::offered offer = std::move(contender.offer);
    if (!offer->held_without_writes())
        return;
    boost::container::static_vector<store::node_secret, store::most_nodes_before> before;
    for (const let_go& earlier : let_go_)
        before.push_back(earlier.secret);
    offer->publish(before);
    remember(node, offer->secret()); // its first time
}

void path_handoffs::remember(std::string_view node, const store::node_secret& secret)
{
    if (!let_go_.full())
        return let_go_.push_back({std::string(node), secret});
    let_go_.front().node = node; // in the memory of the oldest one's
    let_go_.front().secret = secret;
    let_go_.rotate(let_go_.begin() + 1); // it is the newest now
}

/// Somebody waits behind a node of ours: it does not linger.
void path_handoffs::on_awaited()
{
    queue_.awaited();
    lock_.advance();
}

// --- nodes of others -------------------------------------------------------------------------------------------------

void path_handoffs::listed()
{
    if (!takes_part_)
        return;
    const std::vector<std::string> before = queue_.known().others_before_ours(store::most_nodes_before);
    for (auto each = before.rbegin(); each != before.rend(); ++each)
        (void)follow(*each);
}

/// The nodes before it are followed, too: who lets go sends along what it knows of them.
void path_handoffs::look_at(const std::string& node, std::string_view data)
{
    const std::string_view endpoint = queue::handoff_of(data);
    const bool of_us = endpoint == all_.peers.endpoint(); // of an earlier session
    if (!takes_part_ || endpoint.empty() || of_us || !queue_.known().waits_behind(node))
        return;
    const auto followed = follow(node);
    if (!followed || (*followed)->second.wanted)
        return;
    (*followed)->second.endpoint.clear();
    const auto may_ask = [](handoffs::followed f) { return !f->second.endpoint.empty(); };
    if (std::ranges::count_if(known_, may_ask) == static_cast<std::ptrdiff_t>(most_asked_for)) {
        const handoffs::followed oldest = *std::ranges::find_if(known_, may_ask);
        all_.ask_no_more(oldest);
        oldest->second.endpoint.clear();
    }
    (*followed)->second.endpoint = endpoint;
    all_.ask(*followed);
    listed();
}

/// Nothing if it was let go, or cannot be followed.
std::optional<handoffs::followed> path_handoffs::follow(const std::string& node)
{
    const auto uuid = queue::uuid_of(node);
    if (!uuid)
        return std::nullopt;
    if (const auto told = all_.told_before(*uuid); told && queue_.certified(node)) {
        remember_of_others(node, *told);
        return std::nullopt;
    }
    const auto found = std::ranges::find_if(known_, [&node](handoffs::followed f) { return f->second.node == node; });
    if (found != known_.end()) {
        std::rotate(found, found + 1, known_.end()); // the last that was met is the last to go
        return known_.back();
    }
    if (known_.size() >= most_known)
        make_room();
    known_.reserve(known_.size() + 1);
    known_.push_back(all_.follow(*this, *uuid, node));
    return known_.back();
}

/// Those that nobody waits behind are the first to go, and then those that are not asked for, which some always are.
void path_handoffs::make_room()
{
    auto oldest = std::ranges::find_if(known_, [this](handoffs::followed f) { return !waits_behind(f->second); });
    if (oldest == known_.end())
        oldest = std::ranges::find_if(known_, [](handoffs::followed f) { return !f->second.wanted; });
    if (oldest == known_.end())
        oldest = known_.begin();
    all_.forget(*oldest);
    known_.erase(oldest);
}

bool path_handoffs::waits_behind(const handoffs::node_of_others& other) const noexcept
{
    return queue_.known().waits_behind(other.node);
}

void path_handoffs::remember_of_others(std::string_view node, const store::node_secret& secret)
{
    if (std::ranges::find(let_go_, node, &let_go::node) == let_go_.end())
        remember(node, secret);
}

/// If the servers have told it before, others who wait may not have heard it yet.
void path_handoffs::on_certified(std::string_view node, const store::node_secret& secret)
{
    const bool is_news = queue_.certified(node);
    remember_of_others(node, secret);
    if (is_news)
        lock_.advance();
}

void path_handoffs::settle()
{
    const std::size_t unseen = queue_.known().places().passed_over();
    session_.catch_up().unseen(unseen_, unseen);
    unseen_ = unseen;
    for (const handoffs::followed each : known_) {
        if (each->second.endpoint.empty() || waits_behind(each->second) == each->second.wanted)
            continue;
        if (each->second.wanted)
            all_.ask_no_more(each);
        else
            all_.ask(each); // another contender waits, and the watch is still there
    }
}

} // namespace zklock::recipes

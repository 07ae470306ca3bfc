#include "peer_network.hpp"

#include "simulated_peers.hpp"

namespace zklock::simulator {

using stream = choices::stream;
using namespace std::chrono_literals;

std::string uuid_in(std::string_view name)
{
    name.remove_prefix(name.rfind('/') + 1);
    constexpr std::string_view protection = "_c_";
    if (name.starts_with(protection))
        return std::string(name.substr(protection.size(), 36));
    constexpr std::size_t digits = 32;
    const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (name.size() < digits || !std::all_of(name.begin(), name.begin() + digits, is_digit))
        return {};
    std::string uuid(name.substr(0, digits));
    for (const std::size_t dash : {8u, 13u, 18u, 23u})
        uuid.insert(dash, 1, '-');
    return uuid;
}

std::string peer_network::open(simulated_peers& p)
{
    open_.push_back(&p);
    const auto left = std::find_if(at_.begin(), at_.end(), [](const auto& e) { return e.second == nullptr; });
    if (left != at_.end() && one_in(2, p.number())) {
        left->second = &p;
        return left->first;
    }
    const auto fresh = "10.0.0." + std::to_string(p.number()) + ':' + std::to_string(40'000 + opened_++);
    at_[fresh] = &p;
    return fresh;
}

void peer_network::close(const simulated_peers& p)
{
    std::erase(open_, &p);
    for (auto& [endpoint, who] : at_) {
        if (who != &p)
            continue;
        who = nullptr;
        // Another client may get the address, as where containers are started again.
        if (!open_.empty() && one_in(3, p.number()))
            who = open_[world_.choose.below(open_.size(), stream::peers, p.number())];
    }
}

simulated_peers* peer_network::who_is_at(std::string_view endpoint) const
{
    const auto found = at_.find(endpoint);
    return found == at_.end() ? nullptr : found->second;
}

instant peer_network::travel_time(unsigned of)
{
    const auto& set = world_.set;
    const auto spread = static_cast<std::uint64_t>(instant(set.peer_delay).count());
    instant t = set.peer_delay + instant(world_.choose.below(spread, stream::peers, of));
    if (one_in(16, of))
        t += 50 * instant(world_.choose.below(spread, stream::peers, of));
    return t;
}

bool peer_network::goes_wrong(unsigned of)
{
    const auto odds = world_.set.one_peer_fault_in;
    return !world_.quiet && odds != 0 && one_in(odds, of);
}

bool peer_network::reach_each_other(unsigned a, unsigned b) const
{
    return world_.time.now() >= parted_until_ || (a - b) % 2 == 0;
}

std::optional<instant> peer_network::end_of_a_connection(unsigned of)
{
    if (!goes_wrong(of))
        return std::nullopt;
    return instant(std::chrono::microseconds(world_.choose.below(200'000, stream::peers, of)));
}

void peer_network::send(unsigned from, simulated_peers& to, std::function<void()> arrives)
{
    if (world_.set.peers != peer_life::alive || !reach_each_other(from, to.number()))
        return;
    const auto arrive = [this, from, &to, arrives = std::move(arrives)] {
        if (reach_each_other(from, to.number()))
            to.run(arrives);
    };
    auto after = travel_time(from);
    if (goes_wrong(from)) {
        switch (world_.choose.below(3, stream::peers, from)) {
        case 0: return;
        case 1:
            after += std::chrono::microseconds(
                world_.choose.below(one_in(2, from) ? 50'000 : 5'000'000, stream::peers, from));
            break;
        default: world_.time.after(after + travel_time(from), arrive); break;
        }
    }
    world_.time.after(after, arrive);
}

void peer_network::published(unsigned by, const store::node_secret& secret, const store::commitment& node)
{
    let_go_.emplace(store::text(node));
    if (on_published)
        on_published(by, store::text(node));
    if (world_.set.peers != peer_life::alive || world_.quiet || world_.set.one_peer_fault_in == 0)
        return;
    known_to_strangers_.push_back(secret);
    gossip(by, secret);
}

/// Whoever has a secret may show it to anybody, at any time, and may make up others.
void peer_network::gossip(unsigned by, const store::node_secret& secret)
{
    if (one_in(2, by))
        tell_somebody(by, secret, travel_time(by));
    for (const std::uint64_t latest : {100'000u, 2'000'000u}) {
        const std::chrono::microseconds later(world_.choose.below(latest, stream::peers, by));
        if (one_in(3, by))
            tell_somebody(by, secret, later);
    }
    if (one_in(4, by)) {
        const auto old = world_.choose.below(known_to_strangers_.size(), stream::peers, by);
        tell_somebody(by, known_to_strangers_[old], travel_time(by));
    }
    if (one_in(4, by)) {
        store::node_secret made_up{};
        for (auto& byte : made_up)
            byte = static_cast<std::uint8_t>(world_.choose.next(stream::peers, by));
        tell_somebody(by, made_up, std::chrono::microseconds(world_.choose.below(20'000, stream::peers, by)));
    }
}

void peer_network::tell_somebody(unsigned by, const store::node_secret& secret, instant when)
{
    world_.time.after(when, [this, by, secret] {
        if (open_.empty())
            return;
        auto& who = *open_[world_.choose.below(open_.size(), stream::peers, by)];
        who.run([&who, secret] { who.told(secret); });
    });
}

std::string peer_network::some_endpoint(std::uint32_t choice) const
{
    static constexpr const char* nobodys[] = {"10.0.0.99:1", "", "nonsense", "127.0.0.1:2181", "10.0.0.1:99999"};
    const auto all = at_.size() + std::size(nobodys);
    const auto which = choice % all;
    if (which < std::size(nobodys))
        return nobodys[which];
    return std::next(at_.begin(), static_cast<std::ptrdiff_t>(which - std::size(nobodys)))->first;
}

} // namespace zklock::simulator

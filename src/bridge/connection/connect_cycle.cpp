#include "bridge/connection/connect_cycle.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

namespace zklock::bridge {
namespace {

/// How many servers these addresses are of; see vote_decides().
std::size_t count_servers(const std::vector<address_ptr>& addresses)
{
    std::map<std::pair<std::string_view, std::uint16_t>, std::array<std::size_t, 2>> by_name;
    for (const address_ptr& each : addresses) {
        const host_port& name = each->given.front();
        ++by_name[{name.host, name.port}][each->socket.any.sa_family == AF_INET6 ? 1 : 0];
    }
    std::size_t servers = 0;
    for (const auto& [name, count] : by_name)
        servers += std::max(count[0], count[1]);
    return servers;
}

} // namespace

void connect_cycle::attempt_begins() noexcept
{
    ++attempts_;
    names_tried_ = 0;
    trying_ = true;
}

bool connect_cycle::try_next_name() noexcept
{
    ++name_;
    return ++names_tried_ < present()->given.size();
}

void connect_cycle::go_on() noexcept
{
    ++next_;
    trying_ = false;
}

bool connect_cycle::join(const address_ptr& address, bool usable, bool confirmed)
{
    put_present_first();
    const auto same = find_same(addresses_, *address);
    if (same != addresses_.end()) {
        *same = address;
        const bool was_disbelieved = find_same(disbelieved_, *address) != disbelieved_.end();
        const auto place = static_cast<std::size_t>(same - addresses_.begin());
        if (!was_disbelieved || place < in_use() || !confirmed)
            return false;
        leave(place);
    } else if (!usable) {
        return false;
    }
    const auto after = static_cast<std::ptrdiff_t>(std::min(in_use(), addresses_.size()));
    addresses_.insert(addresses_.begin() + after, address);
    return true;
}

void connect_cycle::put_present_first()
{
    if (addresses_.empty())
        return;
    std::ranges::rotate(addresses_, addresses_.begin() + static_cast<std::ptrdiff_t>(next_ % addresses_.size()));
    next_ = 0;
}

bool connect_cycle::vote_decides() const
{
    auto voted = voters_;
    voted.push_back(present());
    return 2 * count_servers(voted) > count_servers(addresses_);
}

/// The present address is the first, and those that were tried before it in this cycle are the last.
void connect_cycle::leave(std::size_t place)
{
    if (place + attempts_ >= addresses_.size() + in_use()) {
        --attempts_;
        insecure_ = 0; // it may have been one of these
    }
    if (const auto doubted = find_same(disbelieved_, *addresses_[place]); doubted != disbelieved_.end())
        disbelieved_.erase(doubted);
    addresses_.erase(addresses_.begin() + static_cast<std::ptrdiff_t>(place));
}

} // namespace zklock::bridge

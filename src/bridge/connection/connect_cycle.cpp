#include "bridge/connection/connect_cycle.hpp"

#include <array>
#include <utility>

namespace zklock::bridge {
namespace {

/// The addresses behind names, of which some lead to the same.
struct addresses_behind {
    std::vector<host_port> names;
    std::array<std::size_t, 2> all{}; ///< by family
    std::array<std::size_t, 2> voted{};

    [[nodiscard]] bool shares_a_name(const addresses_behind& other) const
    {
        return std::ranges::find_first_of(names, other.names) != names.end();
    }
    void take_in(const addresses_behind& other)
    {
        names.insert(names.end(), other.names.begin(), other.names.end());
        for (const std::size_t family : {0, 1}) {
            all[family] += other.all[family];
            voted[family] += other.voted[family];
        }
    }
};

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
    std::vector<addresses_behind> groups;
    for (const address_ptr& each : addresses_) {
        const bool votes = each == present() || find_same(voters_, *each) != voters_.end();
        const std::size_t family = each->socket.any.sa_family == AF_INET6 ? 1 : 0;
        addresses_behind its{each->given};
        its.all[family] = 1;
        its.voted[family] = votes ? 1 : 0;
        std::erase_if(groups, [&its](const addresses_behind& group) {
            const bool joins = group.shares_a_name(its);
            if (joins)
                its.take_in(group);
            return joins;
        });
        groups.push_back(std::move(its));
    }
    std::size_t servers = 0, votes = 0;
    for (const addresses_behind& group : groups) {
        servers += std::ranges::max(group.all);
        votes += std::ranges::max(group.voted);
    }
    return 2 * votes > servers;
}

/// The present address is the first, and those that were tried before it in this cycle are the last.
void connect_cycle::leave(std::size_t place)
{
    if (place + attempts_ >= addresses_.size() + in_use()) {
        --attempts_;
        insecure_ = 0; // it may have been one of these
    }
    for (auto* const said : {&disbelieved_, &voters_})
        if (const auto its = find_same(*said, *addresses_[place]); its != said->end())
            said->erase(its);
    addresses_.erase(addresses_.begin() + static_cast<std::ptrdiff_t>(place));
}

} // namespace zklock::bridge

#include "bridge/peers/inbound.hpp"

#include <algorithm>

namespace zklock::bridge::peering {

inbound::inbound(offers& all, offers::peer_id self, time_point now, std::string& out)
    : all_(all), self_(self), due_(now + first_wish_within)
{
    append(out, greeting);
}

verdict inbound::receive(bytes in, time_point now, std::string& out, std::vector<node_id>& awaited)
{
    bool whole = false;
    while (const auto frame = reader_.next(in)) {
        whole = true;
        if (!is_valid(*frame) || take(*frame, now, out, awaited) == verdict::hang_up)
            return verdict::hang_up;
    }
    return whole ? verdict::go_on : vain(now);
}

verdict inbound::vain(time_point now) noexcept
{
    return vain_.take(now) && all_.permit_vain(now) ? verdict::go_on : verdict::hang_up;
}

verdict inbound::take(const wish_frame& wished, time_point now, std::string& out, std::vector<node_id>& awaited)
{
    using answer = offers::answer;
    bool for_nothing = true;
    if (wished.what == wish::unsubscribe) {
        all_.unsubscribe(wished.of, self_);
    } else {
        const auto answered = all_.subscribe(wished.of, self_, now);
        if (answered == answer::unknown && !useful_)
            return verdict::hang_up; // its first word is for a node that nobody here has
        useful_ = useful_ || answered != answer::unknown;
        for_nothing = answered == answer::unknown || answered == answer::known || answered == answer::full;
        if (answered == answer::awaited)
            awaited.push_back(wished.of);
        if (answered == answer::gone)
            tell(all_.kept_secrets(wished.of), out);
    }
    if (useful_)
        due_ = now + idle_for;
    return for_nothing ? vain(now) : verdict::go_on;
}

/// Otherwise each certificate in a hot queue would bring the same ones again.
void inbound::tell(std::span<const store::node_secret> secrets, std::string& out)
{
    for (const auto& secret : secrets) {
        if (&secret != &secrets.back() && std::ranges::find(last_told_, secret) != last_told_.end())
            continue;
        append(out, certificate_frame{certificate_mark, secret});
        last_told_.push_back(secret);
    }
}

verdict inbound::time_passed(time_point now)
{
    if (now < due_)
        return verdict::go_on;
    if (!useful_ || !all_.subscribes(self_))
        return verdict::hang_up;
    due_ = now + idle_for; // it waits for something
    return verdict::go_on;
}

} // namespace zklock::bridge::peering

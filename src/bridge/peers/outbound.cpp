#include "bridge/peers/outbound.hpp"

namespace zklock::bridge::peering {

void outbound::want(const node_id& node, time_point now, std::string& out)
{
    if (wanted_.size() >= most_wanted || !wanted_.insert(node).second)
        return;
    used_last_ = now;
    wanted_last_ = node;
    if (greeted())
        append(out, wish_frame{wish::subscribe, node});
}

void outbound::want_no_more(const node_id& node, time_point now, std::string& out)
{
    if (wanted_.erase(node) == 0)
        return;
    used_last_ = now;
    if (greeted())
        append(out, wish_frame{wish::unsubscribe, node});
}

verdict outbound::take_greeting(bytes& in)
{
    while (!in.empty() && !greeted()) {
        if (in.front() != greeting[of_greeting_])
            return verdict::hang_up;
        ++of_greeting_;
        in = in.subspan(1);
    }
    return verdict::go_on;
}

verdict outbound::receive(bytes in, time_point now, std::string& out, std::vector<proof>& heard)
{
    if (!greeted()) {
        if (take_greeting(in) == verdict::hang_up)
            return verdict::hang_up;
        if (!greeted())
            return verdict::go_on;
        if (wanted_.empty()) {
            // The wait was over sooner. The next is to find a connection, and the other end waits for a word.
            append(out, wish_frame{wish::subscribe, wanted_last_});
            append(out, wish_frame{wish::unsubscribe, wanted_last_});
        }
        for (const node_id& node : wanted_)
            append(out, wish_frame{wish::subscribe, node});
        used_last_ = now;
        due_ = now + idle_for;
    }
    bool whole = in.empty(); // it was the greeting alone
    while (const auto frame = reader_.next(in)) {
        whole = true;
        if (!is_valid(*frame))
            return verdict::hang_up;
        const node_id of = commitment_to_(frame->secret);
        const bool asked_for = wanted_.erase(of) != 0;
        if (!asked_for && !unasked_.take(now))
            return verdict::hang_up;
        heard.push_back({of, frame->secret, asked_for});
        if (asked_for) {
            used_last_ = now;
            unasked_.give_back(unasked_with_each);
        }
    }
    return whole || unasked_.take(now) ? verdict::go_on : verdict::hang_up;
}

verdict outbound::time_passed(time_point now)
{
    if (now < due_)
        return verdict::go_on;
    if (!greeted() || (wanted_.empty() && now - used_last_ >= idle_for))
        return verdict::hang_up;
    due_ = wanted_.empty() ? used_last_ + idle_for : now + idle_for;
    return verdict::go_on;
}

} // namespace zklock::bridge::peering

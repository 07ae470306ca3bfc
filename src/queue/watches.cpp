#include "queue/watches.hpp"

namespace zklock::queue {

void watches::arm(std::vector<action>& actions, const std::string& node)
{
    if (states_.try_emplace(node, watch_state::arming).second)
        actions.push_back({action::kind::watch, 0, node});
}

void watches::armed(std::string_view node, bool lasting)
{
    const auto watch = states_.find(node);
    if (watch != states_.end() && watch->second == watch_state::arming)
        watch->second = watch_state::armed;
    if (lasting)
        lasting_.emplace(node);
}

void watches::disarmed(std::string_view node)
{
    const auto watch = states_.find(node);
    if (watch != states_.end() && watch->second == watch_state::disarming)
        states_.erase(watch);
    look_after_holders();
}

void watches::forget(std::string_view node)
{
    if (const auto watch = states_.find(node); watch != states_.end())
        states_.erase(watch);
    if (const auto lasting = lasting_.find(node); lasting != lasting_.end())
        lasting_.erase(lasting);
}

void watches::epoch_ended()
{
    states_.clear();
    lasting_.clear();
}

void watches::ended(std::string_view node)
{
    forget(node);
    look_after_holders();
}

bool watches::is_watched(std::string_view node) const
{
    const auto watch = states_.find(node);
    return watch != states_.end() && watch->second != watch_state::disarming;
}

bool watches::was_read(std::string_view node) const
{
    const auto found = states_.find(node);
    return found != states_.end() && found->second != watch_state::arming;
}

bool watches::is_armed(std::string_view node) const
{
    const auto watch = states_.find(node);
    return watch != states_.end() && watch->second == watch_state::armed;
}

} // namespace zklock::queue

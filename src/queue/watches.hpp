#pragma once
#include "queue/lock_queue_action.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::queue {

enum class watch_state : std::uint8_t { off, arming, armed, disarming };

/// The watches of this epoch on nodes of contenders.
class watches {
public:
    /// Asks for one, unless there is one already.
    void arm(std::vector<action>&, const std::string& node);
    void arm_for_another(std::vector<action>& actions, const std::string& node)
    {
        arm(actions, node);
        others_.insert(node);
    }
    /// The node is being inspected: that arms its watch.
    void arms(const std::string& node) { states_.insert_or_assign(node, watch_state::arming); }
    /// The node was taken for one of ours.
    void is_anothers(const std::string& node) { others_.insert(node); }
    /// `lasting`: no session owns the node.
    void armed(std::string_view node, bool lasting);
    /// The watch has been used up, or could not be armed, and nothing else is known.
    void ended(std::string_view node);
    void disarmed(std::string_view node);
    void forget(std::string_view node);
    /// Takes back all on nodes of others that are not to be kept. A node of ours takes its watches with it; those on
    /// nodes of others would stay on the server after us.
    template <class Keep> void disarm_unneeded(std::vector<action>& actions, const Keep& keep)
    {
        std::erase_if(others_, [this](const std::string& node) { return !states_.contains(node); });
        for (const std::string& node : others_) {
            watch_state& state = states_.at(node);
            if (state != watch_state::armed || keep(node))
                continue;
            state = watch_state::disarming;
            actions.push_back({action::kind::unwatch, 0, node});
        }
    }
    void epoch_ended();

    /// Those of holders who hold on may have to be armed.
    void look_after_holders() noexcept { look_after_holders_ = true; }
    [[nodiscard]] bool have_to_look_after_holders() noexcept { return std::exchange(look_after_holders_, false); }

    [[nodiscard]] bool empty() const noexcept { return states_.empty(); }
    [[nodiscard]] bool any_of_others() const noexcept { return !others_.empty(); }
    /// A watch on that node is there or asked for, and not to be taken back.
    [[nodiscard]] bool is_watched(std::string_view node) const;
    /// The answer to a watch on that node has come in this epoch.
    [[nodiscard]] bool was_read(std::string_view node) const;
    [[nodiscard]] bool is_armed(std::string_view node) const;
    [[nodiscard]] bool is_lasting(const std::string& node) const { return lasting_.contains(node); }

private:
    bool look_after_holders_ = false;
    std::set<std::string> others_; ///< the watched nodes that may be others'
    std::map<std::string, watch_state, std::less<>> states_;
    std::set<std::string, std::less<>> lasting_; ///< watched nodes that no session owns
};

} // namespace zklock::queue

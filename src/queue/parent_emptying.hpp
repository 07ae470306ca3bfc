#pragma once
#include "queue/known_queue.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace zklock::queue {

/// Has the parent deleted where its numbers are scarce, so that the next one counts from 0. Until then contenders
/// without a node are held back.
class parent_emptying {
public:
    /// Has the parent deleted once it is empty, if somebody is held back.
    void go_on(known_queue&, std::vector<action>&);
    /// Contenders without a node get none before the parent has been made again.
    [[nodiscard]] bool holds_back(const parent_node& parent) const noexcept
    {
        return parent.scarce() && now_ != state::impossible;
    }
    /// The node that somebody waits for who is held back; empty if there is none.
    [[nodiscard]] const std::string& awaited() const noexcept { return awaited_; }

    /// Whether the parent, which ever had so many children, is to be deleted.
    [[nodiscard]] bool may_remove(parent_node&, std::int32_t ever);
    /// It had children, or was changed meanwhile: so it was found at that stamp.
    void occupied(std::uint64_t stamp);
    void impossible() noexcept { now_ = state::impossible; }
    void ask_again() noexcept { now_ = state::unasked; }
    void begin_anew() noexcept;

private:
    enum class state : std::uint8_t {
        unasked,
        asked,     ///< its delete was asked for
        occupied,  ///< there were children: the youngest is waited for
        impossible ///< not in this epoch
    };
    bool wait_for_youngest(known_queue&, std::vector<action>&);
    void send_away(known_queue&, action::kind how, contender_id up_to = std::numeric_limits<contender_id>::max());

    state now_ = state::unasked;
    std::uint64_t occupied_stamp_ = 0; ///< when the parent was found to be
    std::string awaited_;              ///< the youngest node then
    contender_id asked_for_ = 0;       ///< the last contender held back when the parent's delete was asked for
};

} // namespace zklock::queue

#pragma once
#include "queue/node_name.hpp"
#include "recipes/session/request_for.hpp"
#include "zklock/events.hpp"

#include <optional>
#include <string>
#include <vector>

namespace zklock::recipes {

/// A look at the node of somebody who holds a lock, for those who are about to give up waiting for it. It waits in line
/// with what users ask for.
class holder_look final : public request_of_several<> {
public:
    /// Chooses one of a path's children; gives an empty name if there is none to be looked at.
    using chooser = std::string (*)(const std::vector<std::string>& children);

    /// Looks at that child of the path.
    holder_look(session&, std::string path, std::string child, queue::name_rules);
    /// Looks at the child that `choose` takes when the children are known, which costs one request more.
    holder_look(session&, std::string path, chooser);

    /// The name of that child; empty as long as it is not known.
    [[nodiscard]] const std::string& child() const noexcept { return child_; }
    /// What its node says, once that is known.
    [[nodiscard]] const std::optional<contender>& found() const noexcept { return found_; }
    [[nodiscard]] bool has_more() const noexcept override { return !ended() && !asked_ && !child_.empty(); }

private:
    void restart() override;
    void send() override;
    [[nodiscard]] bool reads() const noexcept override { return false; } // what its user knows already is as old
    void finish() override { end({}); }

    const std::string path_;
    const chooser choose_; ///< null if the child is given
    const queue::name_rules rules_;
    std::string child_;
    bool asked_ = false; ///< for the child
    std::optional<contender> found_;
};

} // namespace zklock::recipes

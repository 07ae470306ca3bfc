#pragma once
#include "queue/node_name.hpp"
#include "recipes/session/request_for.hpp"
#include "store/scheduler.hpp"
#include "zklock/events.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zklock::recipes {

/// A look at the node of somebody who holds a lock, for those who are about to give up waiting for it. It waits in line
/// with what users ask for.
class holder_look final : public request_of_several<> {
public:
    /// Chooses one of a path's children; gives an empty name if there is none to be looked at.
    using chooser = std::function<std::string(const std::vector<std::string>& children)>;

    /// Looks at that child of the path. If none is given, or it is gone, `choose` takes one when the children are
    /// known, which costs one request more. `rules` read its name.
    holder_look(session&, std::string path, std::string child, chooser, queue::name_rules rules = {});

    /// The child that it was given to look at.
    [[nodiscard]] const std::string& given() const noexcept { return given_; }
    /// The name of the child that it looks at; empty as long as it is not known.
    [[nodiscard]] const std::string& child() const noexcept { return child_; }
    /// What its node says, once that is known.
    [[nodiscard]] const std::optional<contender>& found() const noexcept { return found_; }
    /// All children, if they had to be listed.
    [[nodiscard]] const std::vector<std::string>& listed() const noexcept { return listed_; }
    [[nodiscard]] bool has_more() const noexcept override
    {
        return !ended() && !asked_ && (!child_.empty() || is_gone_);
    }

private:
    void restart() override;
    void send() override;
    [[nodiscard]] bool reads() const noexcept override { return false; } // what its user knows already is as old
    void finish() override { end({}); }

    const std::string path_;
    const chooser choose_;
    const queue::name_rules rules_;
    const std::string given_;
    std::string child_ = given_;
    bool is_gone_ = false; ///< the child that was given
    bool asked_ = false;   ///< for the child
    std::vector<std::string> listed_;
    std::optional<contender> found_;
};

/// The last such look at a path, which serves all who give up within a moment.
class last_holder_look {
public:
    last_holder_look& operator=(last_holder_look&&) = delete;
    ~last_holder_look() { forget(); }

    /// Null if there is none.
    [[nodiscard]] const holder_look* get() const noexcept { return look_.get(); }
    /// It is new enough. There has to be one.
    [[nodiscard]] bool is_new(store::scheduler::time_point now) const noexcept { return now - began_ < lasts; }
    void begin(session&, std::shared_ptr<holder_look>);
    /// A look that is not answered in this epoch is of no use to anybody.
    void epoch_ended() noexcept;

private:
    static constexpr std::chrono::milliseconds lasts{250};

    void forget() noexcept;

    std::shared_ptr<holder_look> look_;
    store::scheduler::time_point began_{};
};

} // namespace zklock::recipes

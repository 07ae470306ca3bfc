#pragma once
#include "plan.hpp"
#include "zklock/detail/event_sink.hpp"

namespace zklock::simulator {

/// Whether there is a listener in that schedule.
[[nodiscard]] inline bool has_listeners(const plan& p) noexcept
{
    return p.seed / 2 % 3 == 0;
}

/// The listener of one user: checks that each acquire's events come in the stated order, each once.
class heard_events final : public detail::event_sink<lock_event> {
public:
    /// `most_attempts`: how often an acquire may make a node; 0: as often as it likes. `reuse`: it may be granted on
    /// that of another acquire besides, of which it hears first.
    heard_events(unsigned most_attempts, bool reuse, std::function<void(const std::string&)> violate,
                 std::function<void(const lock_event&)> heard);

    void notify(const lock_event&) override;
    /// What the only acquire was told last; null if there are none or several.
    [[nodiscard]] const lock_event* last() const { return lives_.size() == 1 ? &lives_.begin()->second.last : nullptr; }
    /// All acquires that were heard of have ended. A release may still be on its way whose user was told why it could
    /// not be done at once: `late_releases`.
    [[nodiscard]] bool all_ended(bool late_releases) const;
    void check_ended(bool late_releases) const; ///< it is a violation if they have not

private:
    struct life {
        unsigned queued = 0;
        lock_event last;
        bool granted_next = false; ///< it has made as many nodes as it may, and has another one: it holds by that
    };

    [[nodiscard]] static bool goes_on(const life&, bool late_releases);

    const unsigned most_attempts_;
    const bool reuse_;
    const std::function<void(const std::string&)> violate_;
    const std::function<void(const lock_event&)> heard_;
    std::map<std::uint64_t, life> lives_; ///< by acquire
};

} // namespace zklock::simulator

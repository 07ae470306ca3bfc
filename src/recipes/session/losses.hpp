#pragma once
#include "recipes/session/session_part.hpp"
#include "store/scheduler.hpp"
#include "zklock/errc.hpp"

#include <cstdint>
#include <string_view>

namespace zklock::recipes {

/// Why locks and places are lost, as far as it is known, and what the log says of it. (A lease's end is told by
/// lease_keeper to session_member::lease_lapsed().)
class losses : session_part {
public:
    using time_point = store::scheduler::time_point;

    using session_part::session_part;

    /// The loss of a lock that was granted at `held_since`: it is lost now, for the reason that is known.
    [[nodiscard]] lock_loss of(time_point held_since) const noexcept;
    /// Writes a loss to the log. The node's name may be missing, because its end was heard of before.
    void log(const lock_loss&, std::string_view path, std::string_view node, std::int64_t fencing_token) const noexcept;
    /// The node of a waiter is gone: has the log say so, and gives what has cost it its place. Where nothing was heard
    /// from the servers for its time-out, they may have ended the session, with its nodes.
    errc note_waiters_node_gone(std::string_view path, std::string_view node) const noexcept;
    /// Has the log say that a holder goes away with the execution context; nothing if that is not why. The node's name
    /// may be missing, as in log().
    void log_left_held(std::string_view path, std::string_view node, std::int64_t fencing_token) const noexcept;

    // --- called by the session ---------------------------------------------------------------------------------------

    void session_began(time_point now) noexcept { began_ = now; }
    /// The execution context is destroyed, and the session with it, which was not closed.
    void context_gone() noexcept { context_gone_ = true; }

private:
    time_point began_{}; ///< the present session, for all we know
    bool context_gone_ = false;
};

} // namespace zklock::recipes

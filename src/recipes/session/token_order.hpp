#pragma once
#include "recipes/session/session_part.hpp"
#include "store/scheduler.hpp"

#include <cstdint>

namespace zklock::recipes {

/// Notices that zxids, of which fencing tokens are made, have become smaller: the ensemble was set back, or is another.
class token_order : session_part {
public:
    using time_point = store::scheduler::time_point;

    using session_part::session_part;

    /// Something was granted on a node that this transaction made.
    void granted_by(std::int64_t czxid);
    /// A contender's node was made by that transaction, asked for at `sent`. If the number is smaller than that of a
    /// grant before, the log says that the ensemble was set back.
    void made_by(std::int64_t czxid, time_point sent) noexcept;

private:
    std::int64_t largest_ = 0; ///< that something was granted by, in any session
    time_point known_{};       ///< since then
};

} // namespace zklock::recipes

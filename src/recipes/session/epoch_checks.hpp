#pragma once
#include "recipes/session/session_part.hpp"
#include "recipes/session/session_timer.hpp"
#include "store/store.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace zklock::recipes {

/// What has to be known of the servers before an epoch may begin: whether they are those of the session before, whether
/// the server lags, and whether it has the writes of a session that goes on.
///
/// **Those of the session before.** Names may lead to another ensemble, where the client's session is not known and is
/// called over. By its chroot's node a client can tell: another ensemble made its own at another time. Where a new
/// session finds another node than the one before, nothing is granted before that one should be over by the clock.
class epoch_checks : session_part {
public:
    using time_point = store::scheduler::time_point;

    using session_part::session_part;

    /// A new session is there; the one before should be over at that time.
    void session_began(time_point before_is_over) noexcept;
    /// There is a connection: the epoch begins, at once or when all is known.
    void begin(const store::connect_reply&);
    /// The connection is gone, or the session over.
    void call_off() { wait_.call_off(); }

private:
    using mark = std::pair<std::int64_t, std::chrono::system_clock::time_point>; // of no node, where there is none

    void look_at_chroot();
    void judge_chroot(const store::stat_reply&);
    void go_on();
    void catch_up_first();
    void compare(std::optional<store::reply> caught_up);

    std::optional<mark> chroot_;   ///< its node, as it was seen last
    bool chroot_due_ = false;      ///< it has to be looked at
    time_point before_is_over_{};  ///< when the session before should be over
    time_point not_before_{};      ///< when something may be granted again
    session_timer wait_{session_}; ///< until then
    /// The server may not have got as far as one of an earlier connection: no sync has shown it.
    bool may_lag_ = false;
};

} // namespace zklock::recipes

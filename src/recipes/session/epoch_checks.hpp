#pragma once
#include "recipes/session/chroot_check.hpp"
#include "recipes/session/session_timer.hpp"
#include "store/store.hpp"

#include <optional>

namespace zklock::recipes {

class session;

/// What has to be known of the servers before an epoch may begin: whether they are those of the session before, whether
/// the server lags, and whether it has the writes of a session that goes on.
class epoch_checks {
public:
    using time_point = store::scheduler::time_point;

    explicit epoch_checks(session& s) : session_(s), wait_(s) {}

    /// A new session is there; the one before should be over at that time.
    void session_began(time_point before_is_over) noexcept;
    /// There is a connection: the epoch begins, at once or when all is known.
    void begin(const store::connect_reply&);
    /// The connection is gone, or the session over.
    void call_off() { wait_.call_off(); }

private:
    void look_at_chroot();
    void go_on();
    void catch_up_first();
    void compare(std::optional<store::reply> caught_up);

    session& session_;
    chroot_check chroot_;
    session_timer wait_; ///< until the session before should be over
    /// The server may not have got as far as one of an earlier connection: no sync has shown it.
    bool may_lag_ = false;
};

} // namespace zklock::recipes

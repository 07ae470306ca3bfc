#pragma once
#include "recipes/session/session_part.hpp"
#include "zklock/events.hpp"

#include <boost/system/error_code.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace zklock::recipes {

/// What users are told of the connection and of the session's id.
class shown_state : session_part {
public:
    using session_part::session_part;

    /// Who is told of changes, if anybody: of the last one, if several come at once.
    void on_change(std::function<void(connection_state)> f) { on_change_ = std::move(f); }
    /// May be called from any thread.
    [[nodiscard]] connection_state now() const noexcept { return now_; }
    /// How long it has been so.
    [[nodiscard]] lease_clock::duration lasts() const noexcept;
    /// 0 when there is no session. May be called from any thread.
    [[nodiscard]] std::int64_t id() const noexcept { return id_; }

    /// There is that session; 0: none. Told with the next change.
    void set_id(std::int64_t id) noexcept { id_ = id; }
    void change(connection_state);
    /// Each state, even if others follow at once. That the client has failed, and is destroyed next, only the listener
    /// hears.
    void tell_listener(connection_state, const boost::system::error_code& why) noexcept;

private:
    std::function<void(connection_state)> on_change_;
    std::atomic<connection_state> now_{connection_state::connecting};
    std::atomic<std::int64_t> id_{0};
    lease_clock::time_point since_{}; ///< the last state
    std::int64_t told_id_ = 0;        ///< with it
    bool tells_ = false;              ///< soon
};

} // namespace zklock::recipes

#pragma once
#include "recipes/session/session.hpp"
#include "runtime/client_store.hpp"
#include "store/scheduler.hpp"
#include "zklock/result.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace zklock::detail {

/// The waits for a connection that can be used: its session is long enough for a lease, and the chroot's node was seen,
/// once per client. If there are credentials, the root is looked at, too: the answer comes after the server's verdict
/// on them.
class connection_waits {
public:
    using done = std::function<void(error_code)>;
    using id = std::uint64_t;

    connection_waits(runtime::client_store& store, store::scheduler& scheduler, recipes::session& session,
                     bool look_first);
    ~connection_waits();

    /// Calls `d` once: at once if the answer is known, else when it is, or with `errc::not_connected` at the deadline;
    /// with `errc::tls_failed` if that is why. With a deadline that has passed it waits for nothing.
    id add(std::optional<store::scheduler::time_point> deadline, done d);
    /// `d` will not be called.
    void remove(id);

    /// session.state() has changed.
    void state_changed();
    void end_all(error_code);

private:
    struct wait {
        done d;
        store::scheduler::timer_id timer = 0;
    };

    void look();
    void ask_for_root();

    runtime::client_store& store_;
    store::scheduler& scheduler_;
    recipes::session& session_;
    bool root_seen_;
    error_code root_error_; ///< what the last look at the root found over this connection, for waits that look once
    bool asking_ = false;
    bool chroot_missed_ = false; ///< as the log has told
    id last_id_ = 0;
    std::map<id, wait> waits_;
};

} // namespace zklock::detail

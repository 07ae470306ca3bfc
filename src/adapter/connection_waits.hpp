#pragma once
#include "recipes/session.hpp"
#include "store/scheduler.hpp"
#include "store/store.hpp"
#include "zklock/result.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace zklock::detail {

/// Those who wait for a connection that can be used: one on which the chroot's node was seen, once per client.
class connection_waits {
public:
    using done = std::function<void(error_code)>;
    using id = std::uint64_t;

    connection_waits(store::store& store, store::scheduler& scheduler, recipes::session& session, bool has_chroot);
    ~connection_waits();

    /// Calls `d` once: at once where the answer is known, else when it is, or with `errc::timed_out` at the deadline.
    /// A deadline that has passed does not wait for anything.
    id add(std::optional<store::scheduler::time_point> deadline, done d);
    /// `d` will not be called.
    void remove(id);

    /// session.state() is another one.
    void state_changed();
    void end_all(error_code);

private:
    struct wait {
        done d;
        store::scheduler::timer_id timer = 0;
    };

    void look();
    void ask_for_chroot();

    store::store& store_;
    store::scheduler& scheduler_;
    recipes::session& session_;
    bool chroot_seen_;
    bool asking_ = false;
    id last_id_ = 0;
    std::map<id, wait> waits_;
};

} // namespace zklock::detail

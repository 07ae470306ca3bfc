#pragma once
// Those who wait behind a node of another client.
#include "semaphore_scene.hpp"

namespace zklock::unit {

inline const std::string theirs = "_c_x-lock-0000000000";

/// Waits behind a node of another client.
struct waiting_scene : semaphore_scene {
    std::shared_ptr<scene::attempt> wait_for(lease_clock::duration timeout, const std::string& path = "/p",
                                             contender_kind kind = contender_kind::mutex)
    {
        return acquire_by<scene::attempt>([&](recipes::acquire_call call) {
            call.deadline = clock.now() + timeout;
            return locks->acquire({std::move(call), {path, {}, kind}});
        });
    }
    /// Waits for the only permit of /s.
    std::shared_ptr<attempt> want_for(lease_clock::duration timeout)
    {
        return acquire_by<attempt>([&](recipes::acquire_call call) {
            call.deadline = clock.now() + timeout;
            return semaphores->acquire({std::move(call), {"/s", permits_of(1)}});
        });
    }
    /// The first of the path.
    std::shared_ptr<scene::attempt> wait_behind_theirs(lease_clock::duration timeout)
    {
        const auto a = wait_for(timeout);
        asked(*this).to("create /p/" + prefix(1)).number(101, 1).to("watch /p").show(two_children());
        asked(*this).to("children /p").list({theirs, node(1, 1)});
        asked(*this).to("watch /p/" + node(1, 1)).show(5, "me").to("watch /p/" + theirs).show(9, "they");
        asked(*this).nothing_else();
        return a;
    }
    static store::node_stat of_session(std::int64_t session, std::chrono::seconds created)
    {
        store::node_stat stat;
        stat.ephemeral_owner = session;
        stat.created = std::chrono::system_clock::time_point(created);
        return stat;
    }
    /// Lets it go on, and answers nothing but heartbeats.
    void pass(lease_clock::duration d)
    {
        const auto end = clock.now() + d;
        while (clock.now() < end) {
            clock.pass(std::min<lease_clock::duration>(50ms, end - clock.now()));
            answer_syncs();
        }
    }
};

} // namespace zklock::unit

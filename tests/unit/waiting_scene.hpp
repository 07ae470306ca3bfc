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
        const auto a = std::make_shared<scene::attempt>();
        recipes::acquire_request request;
        request.path = path;
        request.kind = kind;
        request.deadline = clock.now() + timeout;
        request.done = [a](error_code ec, const recipes::grant& g) {
            CHECK_FALSE(a->ended);
            a->ended = ec;
            a->given = g;
        };
        a->handle = locks->acquire(std::move(request));
        clock.run();
        return a;
    }
    /// The first of the path.
    std::shared_ptr<scene::attempt> wait_behind_theirs(lease_clock::duration timeout)
    {
        const auto a = wait_for(timeout);
        asked(*this).to("create /p/" + prefix(1)).number(101, 1).to("watch /p").show(parent_of_two());
        asked(*this).to("children /p").list({theirs, node(1, 1)});
        asked(*this).to("watch /p/" + node(1, 1)).show(5, "me").to("watch /p/" + theirs).show(9, "they");
        asked(*this).nothing_else();
        return a;
    }
    static store::node_stat parent_of_two()
    {
        store::node_stat stat;
        stat.num_children = 2;
        stat.cversion = 2;
        return stat;
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

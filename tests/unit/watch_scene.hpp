#pragma once
// What the tests of waiting for nodes have in common.
#include "line_scene.hpp"

#include "recipes/requests/node_watches.hpp"

namespace zklock::unit {

/// The Stat of a node that was made by the first transaction, had its data set by the second, and its children changed
/// by the third.
inline node_stat made(std::int64_t czxid, std::int64_t mzxid = 0, std::int64_t pzxid = 0)
{
    node_stat stat;
    stat.czxid = czxid;
    stat.mzxid = mzxid == 0 ? czxid : mzxid;
    stat.pzxid = pzxid == 0 ? czxid : pzxid;
    return stat;
}

struct waiting {
    std::shared_ptr<recipes::node_wait> handle;
    std::optional<error_code> ended;
    std::optional<node_stat> found;

    [[nodiscard]] bool ended_well() const { return ended == error_code(); }
    [[nodiscard]] bool ended_with(errc e) const { return ended == make_error_code(e); }
};

struct watch_scene : node_scene {
    explicit watch_scene(bool connected = true)
    {
        watches.emplace(*session);
        if (connected)
            connect();
    }
    waiting& wait(recipes::node_wait::goal what, std::optional<node_stat> seen = {}, const std::string& path = "/a")
    {
        waiting& w = all.emplace_back();
        w.handle = watches->wait(path, what, std::move(seen), [&w](error_code ec, const auto& found) {
            CHECK_FALSE(w.ended);
            w.ended = ec;
            w.found = found;
        });
        CHECK_FALSE(w.ended); // never inside the call
        clock.run();
        return w;
    }
    waiting& wait(recipes::node_wait::goal what, const std::string& path) { return wait(what, {}, path); }
    using scene::withdraw;
    bool withdraw(waiting& w)
    {
        const bool withdrawn = w.handle->withdraw() == recipes::withdrawable::withdrawal::withdrawn;
        clock.run();
        return withdrawn;
    }
    void event(store::event_kind what, const std::string& path = "/a") { scene::event(what, path); }
    void reconnect()
    {
        disconnect();
        reappear();
        show_writes_kept(*this);
        clock.run();
    }

    std::optional<recipes::node_watches> watches;
    std::deque<waiting> all;
};

} // namespace zklock::unit

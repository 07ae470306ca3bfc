#pragma once
// What the tests of idle containers have in common.
#include "session_scene.hpp"

namespace zklock::unit {

struct container_scene : connected_scene {
    /// Acquires and releases the lock of a path that is not there, and is made by that transaction; or that others make
    /// at the same time (0).
    void use(const std::string& path, std::int64_t czxid = 50, mutex_options o = {})
    {
        use_the_last(path, czxid, std::move(o));
        asked(*this).nothing_else();
    }
    /// The same; something may be asked for as soon as the path rests.
    void use_the_last(const std::string& path, std::int64_t czxid = 50, mutex_options o = {})
    {
        const auto a = acquire(path, o);
        asked(*this).to("create " + path + "/" + prefix(uuids)).ends(outcome::no_node);
        asked(*this).to("watch " + path).ends(outcome::no_node); // nothing to watch either
        const std::string verb = o.parents == parent_kind::container ? "container " : "persistent ";
        if (czxid != 0)
            asked(*this).only(verb + path).stat(fresh(czxid));
        else
            asked(*this).only(verb + path).ends(outcome::node_exists);
        asked(*this).to("create " + path + "/" + prefix(uuids)).number(++czxid_, 0);
        asked(*this).to("watch " + path).alone(1, czxid_);
        REQUIRE(a->ended == error_code());
        give_back(*a);
    }
    /// One that was made by that transaction, and has had a child since.
    static store::node_stat used(std::int64_t czxid = 50)
    {
        store::node_stat stat = fresh(czxid);
        stat.cversion = 2;
        stat.pzxid = czxid + 1;
        return stat;
    }
    /// The delete of a path's node was done: that is told before the answer.
    void done(const std::string& path)
    {
        servers.observer->on_node_event(store::event_kind::deleted, path);
        asked(*this).to("remove " + path + " at version 0").ends(outcome::ok);
    }
    /// The container rests, is looked at, and may go.
    void begin_to_delete(const std::string& path)
    {
        come_to_rest();
        asked(*this).only("exists " + path).stat(used());
        REQUIRE(servers.pending() == "remove " + path + " at version 0");
    }

private:
    std::int64_t czxid_ = 100;
};

} // namespace zklock::unit

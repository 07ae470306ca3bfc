#pragma once
// What the tests of hand-offs past the servers have in common.
#include "fake_peers.hpp"
#include "node_scene.hpp"

namespace zklock::unit {

inline std::string of_path(const std::string& node)
{
    return "/p/" + node;
}

inline std::string to_create(int secret, const char* mark = "lock-")
{
    const std::string whole = fake_peers::node(secret, 0, mark);
    return "create /p/" + whole.substr(0, whole.size() - queue::sequence_digits);
}

/// Of a path that has had so many children, all of which live, the last made by that transaction.
inline store::node_stat children_of(int count, std::int64_t czxid)
{
    store::node_stat stat;
    stat.num_children = stat.cversion = count;
    stat.pzxid = czxid;
    return stat;
}

/// A client that has a way past the servers, and a path /p.
struct handoff_scene : scene {
    fake_peers peers{servers};
    std::vector<std::string> log;

    handoff_scene()
    {
        options.log = [this](log_level, std::string_view line) { log.emplace_back(line); };
        others = &peers;
        start();
        connect();
    }
    ~handoff_scene() { destroy(); } // before its peers
    /// Somebody holds #1, with number 0.
    std::shared_ptr<attempt> hold_first(const mutex_options& o = {})
    {
        const auto a = acquire("/p", o);
        asked(*this).to(to_create(1)).number(100, 0).to("watch /p").alone(1, 100);
        REQUIRE(a->ended == error_code());
        CHECK(peers.heard() == "offer #1");
        return a;
    }
    /// Somebody has queued with #1 behind those nodes of others, as a list shows.
    std::shared_ptr<attempt> queue_behind(std::vector<std::string> nodes, const mutex_options& o = {})
    {
        const auto number = static_cast<int>(nodes.size());
        const store::node_stat parent = children_of(number + 1, 102);
        const auto a = acquire("/p", o);
        asked(*this).to(to_create(1)).number(102, number).to("watch /p").show(parent);
        nodes.push_back(fake_peers::node(1, number));
        asked(*this).to("children /p").list(nodes, parent);
        peers.heard();
        return a;
    }
    /// Somebody waits with #1 and number 2, behind #51 and #52 of others, who say that.
    std::shared_ptr<attempt> wait_behind(const std::string& data, const mutex_options& o = {})
    {
        const auto a = queue_behind({fake_peers::node(51, 0), fake_peers::node(52, 1)}, o);
        watched(1, 2, 5, "me");
        watched(52, 1, 9, data);
        watched(51, 0, 8, data);
        asked(*this).nothing_else();
        return a;
    }
    void watched(int secret, int sequence, std::int64_t owner, const std::string& data)
    {
        asked(*this).to("watch " + of_path(fake_peers::node(secret, sequence))).show(owner, data);
    }
    void certify(int secret)
    {
        peers.observer->on_certificate(fake_peers::secret_of(secret));
        clock.run();
    }
    void is_gone(int secret, int sequence)
    {
        event(store::event_kind::deleted, of_path(fake_peers::node(secret, sequence)));
    }
    void reconnect() { connect(5, false); }
};

/// The data of another client, which say where it is.
inline constexpr char there[] = "them\nhandoff=10.0.0.2:7000";

} // namespace zklock::unit

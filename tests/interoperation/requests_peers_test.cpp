// What the locks of Curator and kazoo cost in requests to the server, counted on the wire as ours are in requests_test:
// the figures of bench/README.md.
#include "interoperation/contention.hpp"
#include "support/four_letter_words.hpp"

#include <array>

using namespace zklock::test;

namespace {

struct peer_counts {
    std::size_t creates = 0;
    std::size_t removes = 0;
    std::size_t looks = 0; ///< whether a node is there
    std::size_t lists = 0; ///< of all children
    std::size_t others = 0;

    bool operator==(const peer_counts&) const = default;
};

doctest::String toString(const peer_counts& c)
{
    return doctest::toString(c.creates) + " creates, " + doctest::toString(c.removes) + " removes, " +
           doctest::toString(c.looks) + " looks, " + doctest::toString(c.lists) + " lists, " +
           doctest::toString(c.others) + " others";
}

/// The requests for a lock's path and the nodes below it, since the last look. Others are the client's own.
peer_counts counted(proxy& link, const std::string& path)
{
    peer_counts counts;
    for (const auto& seen : link.history()) {
        if (!seen.path.starts_with(path))
            continue;
        switch (seen.op) {
        case opcode::create:
        case opcode::create2: ++counts.creates; break;
        case opcode::remove: ++counts.removes; break;
        case opcode::exists: ++counts.looks; break;
        case opcode::get_children:
        case opcode::get_children2: ++counts.lists; break;
        default: ++counts.others;
        }
    }
    link.forget();
    return counts;
}

/// Curator's and kazoo's, each behind a proxy. Its parts are meant to be bound to names.
struct their_peers {
    their_peers()
    {
        curator.process.wait_ready();
        kazoo.process.wait_ready();
    }
    peer_scene scene;
    remote_peer curator{scene, maker::curator, "curator", server().port()};
    remote_peer kazoo{scene, maker::kazoo, "kazoo", server().port()};
    admin_client admin{server().port()};
};

void until_watched(const std::string& node)
{
    wait_until(node + " is watched", default_limit, [&] { return watches(server().port()).contains(node); });
}

} // namespace

TEST_CASE("alone: an acquire of Curator's takes two requests, one of kazoo's three; a release one")
{
    their_peers all;
    auto& [scene, curator, kazoo, admin] = all;
    struct expectation {
        remote_peer& of;
        peer_counts acquire;
    };
    const std::array table{expectation{curator, {.creates = 1, .lists = 1}},
                           expectation{kazoo, {.creates = 1, .looks = 1, .lists = 1}}};
    for (const auto& [of, acquire] : table) {
        const std::string name = of.process.name();
        CAPTURE(name);
        const std::string path = "/requests_peers/" + name;
        admin.create_all(path);
        for (int i = 0; i < 3; ++i) {
            const std::string attempt = name + std::to_string(i);
            of.link.forget();
            of.process.say("acquire " + attempt + " mutex " + path);
            of.process.wait_for(attempt, "granted");
            CHECK(counted(of.link, path) == acquire);
            of.process.say("release " + attempt);
            of.process.wait_for(attempt, "done");
            CHECK(counted(of.link, path) == peer_counts{.removes = 1});
        }
    }
    quit_and_look(server(), {&curator.process, &kazoo.process}, {"/requests_peers/curator", "/requests_peers/kazoo"});
}

TEST_CASE("a hand-off: whoever was woken lists all children before it knows that the lock is its own")
{
    their_peers all;
    auto& [scene, curator, kazoo, admin] = all;
    struct expectation {
        remote_peer& of;
        std::string predecessor;
    };
    const std::array table{expectation{curator, "_c_6fa459ea-ee8a-3ca4-894e-db77e160355e-lock-"},
                           expectation{kazoo, "6fa459eaee8a3ca4894edb77e160355e__lock__"}};
    for (const auto& [of, predecessor] : table) {
        const std::string name = of.process.name();
        CAPTURE(name);
        const std::string path = "/requests_peers/handed/" + name;
        admin.create_all(path);
        const std::string before = admin.create(path + "/" + predecessor, {}, create_mode::ephemeral_sequential);
        const std::string attempt = "waits-" + name;
        of.process.say("acquire " + attempt + " mutex " + path);
        until_watched(before);
        of.link.forget();
        admin.remove(before);
        of.process.wait_for(attempt, "granted");
        CHECK(counted(of.link, path) == peer_counts{.lists = 1});
        of.process.say("release " + attempt);
        of.process.wait_for(attempt, "done");
    }
    quit_and_look(server(), {&curator.process, &kazoo.process},
                  {"/requests_peers/handed/curator", "/requests_peers/handed/kazoo"});
}

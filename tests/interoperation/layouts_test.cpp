// Who heeds whose nodes, and who therefore can share a path: the table in README.md beside this.
#include "interoperation/contention.hpp"

#include <array>

using namespace zklock::test;

namespace {

/// A node that stands first in a queue.
struct layout {
    const char* name;
    const char* prefix;
    create_mode mode = create_mode::persistent_sequential;
};
constexpr std::array layouts{layout{"curator", "_c_6fa459ea-ee8a-3ca4-894e-db77e160355e-lock-"}, // go-zookeeper's, too
                             layout{"kazoo", "f00459eaee8a3ca4894edb77e160355e__lock__"},
                             layout{"writelock", "x-72057594037927936-"}, layout{"crecipe", "x-0100000000000000-"},
                             layout{"nobody", "0-a-note", create_mode::persistent}};

/// Whom somebody waits for, in the order of the layouts.
struct expectation {
    rival who;
    std::array<bool, layouts.size()> waits;
};

} // namespace

TEST_CASE("who waits behind whose node")
{
    three_peers all;
    auto& [scene, curator, kazoo, ours, admin] = all;
    //                                                                  curator kazoo  writelock crecipe nobody
    const std::vector<expectation> table{{{&ours, "mutex"}, {true, true, true, true, false}},
                                         {{&ours, "mutex", "names=kazoo"}, {true, true, true, true, false}},
                                         {{&curator, "mutex"}, {true, false, false, false, true}},
                                         {{&curator, "write-lock"}, {true, false, true, true, false}},
                                         {{&kazoo, "mutex"}, {false, true, false, false, false}},
                                         {{&kazoo, "mutex+curator"}, {true, true, false, false, false}},
                                         {{&kazoo, "curator"}, {true, false, false, false, false}}};
    for (std::size_t row = 0; row < table.size(); ++row)
        for (std::size_t column = 0; column < layouts.size(); ++column) {
            const auto& [who, waits] = table[row];
            const std::string attempt = layouts[column].name + std::to_string(row);
            const std::string path = "/heeds/" + attempt;
            CAPTURE(who.who->name() + " " + who.recipe + " " + who.options);
            CAPTURE(attempt);
            admin.create_all(path);
            admin.create(path + "/" + layouts[column].prefix, {}, layouts[column].mode);
            // Whoever should not wait need not hurry; whoever should has no time to be granted by mistake.
            who.acquire(attempt, path, waits[column] ? "hold=0 wait=100" : "hold=0");
            who.who->wait_for(attempt, "done");
            CHECK(who.who->count(attempt, waits[column] ? "gave-up" : "granted") == 1);
        }
    for (peer* each : {&curator, &kazoo, &ours})
        each->quit();
    admin.remove_all("/heeds");
}

TEST_CASE("ZooKeeper's own recipes, in Java and in C, and ours on one path")
{
    peer_scene scene;
    peer java(scene, maker::curator, "java", server().address());
    peer java_too(scene, maker::curator, "java-too", server().address());
    peer c(scene, maker::c_recipe, "c", server().address());
    peer ours(scene, maker::zklock, "zklock", server().address());
    for (peer* each : {&java, &java_too, &c, &ours})
        each->wait_ready();
    admin_client admin(server().port());
    const std::vector<rival> all{{&java, "write-lock", {}, 1}, // it calls its nodes by its session
                                 {&java_too, "write-lock", {}, 1},
                                 {&c, "mutex", {}, 1},
                                 {&ours, "mutex", {}, 1}};
    contend(admin, scene.noted, "/peers/zookeeper", all, 20);
    quit_and_look(server(), {&java, &java_too, &c, &ours}, {"/peers/zookeeper"});
}

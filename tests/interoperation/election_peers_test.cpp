// Curator's LeaderSelector, kazoo's Election and our election: leaders of one path.
#include "integration/recipe_scene.hpp"
#include "interoperation/contention.hpp"

using namespace zklock;
using namespace zklock::test;
using candidate = zklock::test::rival;

TEST_CASE("one leader at a time, whosever candidates they are, and mutexes of the path are excluded")
{
    three_remote_peers all;
    auto& [scene, curator, kazoo, ours, admin] = all;
    const std::vector<candidate> as_curator{{&curator.process, "leader"},
                                            {&ours.process, "election"},
                                            {&curator.process, "mutex"},
                                            {&ours.process, "mutex"}};
    contend(admin, scene.noted, "/peers/leader", as_curator, 10, {&ours.link});
    const std::vector<candidate> as_kazoo{{&kazoo.process, "election"}, {&ours.process, "election", "names=kazoo"}};
    contend(admin, scene.noted, "/peers/election", as_kazoo, 10, {&ours.link});

    // Who stands is told with what Curator says of itself.
    const std::string path = "/peers/participants";
    const auto body = [&]() -> awaitable<void> {
        client zk(co_await asio::this_coro::executor, fault_options(server().address(), long_session));
        curator.process.say("acquire the-leader leader " + path);
        curator.process.wait_for("the-leader", "granted");
        election chair(zk, path);
        const auto leader = must(co_await chair.leader());
        REQUIRE(leader);
        CHECK(leader->identifier == "the-leader");
        CHECK_FALSE(leader->ours);
        auto reign = [](leadership&) -> awaitable<void> { co_return; };
        const result<void> too_soon = co_await chair.lead(50ms, reign);
        CHECK(error_in(too_soon) == condition::not_in_time);
        curator.process.say("release the-leader");
        const result<void> led = co_await chair.lead(reign);
        must(led);
        curator.process.wait_for("the-leader", "done");
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    expect_sound(scene.noted);
    quit_and_look(server(), {&curator.process, &kazoo.process, &ours.process},
                  {"/peers/leader", "/peers/election", path});
}

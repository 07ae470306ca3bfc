// Who holds permits: what is split off, lost, asked for and committed.
#include "semaphore_scene.hpp"

using namespace zklock::unit;

TEST_CASE("lost with the session; what was split off is held by itself")
{
    semaphore_scene s;
    const auto a = s.hold_three();
    int losses = 0;
    CHECK_FALSE(a->handle->split(4));
    CHECK_FALSE(a->handle->split(0));
    const auto part = a->handle->split(2);
    REQUIRE(part);
    part->on_lost([&] { ++losses; });
    CHECK(part->count() == 2);
    CHECK(part->given().node == s.permit_node(3, 8));
    CHECK(part->given().fencing_token == a->given.fencing_token);
    s.event(store::event_kind::deleted, s.permit_node(4, 9));
    CHECK(losses == 1);
    CHECK(a->losses == 0);
    CHECK(a->handle->held(s.clock.now()));
    CHECK_FALSE(part->held(s.clock.now()));
    s.end_session();
    CHECK(a->losses == 1);
    CHECK_FALSE(a->handle->held(s.clock.now()));
    CHECK_FALSE(a->handle->split(1));
}

TEST_CASE("a commit looks for the node of each permit that is still there when it is sent")
{
    semaphore_scene s;
    const auto a = s.hold_three();
    int lost = 0, told = 0;
    error_code ended;
    const auto commit = [&] {
        recipes::nodes::commit(*s.session, transaction().set("/stock", "1"), recipes::nodes::claim{a->handle, a->given},
                               [&](error_code ec, const commit_result&) {
                                   ++told;
                                   ended = ec;
                               });
    };
    commit();
    asked(s).only("batch " + s.check(2, 7) + ", " + s.check(3, 8) + ", " + s.check(4, 9) + ", set /stock").done({});
    CHECK(told == 1);
    CHECK_FALSE(ended);

    // One of them is split off meanwhile: it is no business of this one's any more.
    s.disconnect();
    commit();
    const auto part = a->handle->split(1);
    REQUIRE(part);
    part->on_lost([&] { ++lost; });
    s.connect(5, false);
    asked(s)
        .only("batch " + s.check(2, 7) + ", " + s.check(3, 8) + ", set /stock")
        .fails_at(1, outcome::no_node); // not the first
    CHECK(told == 2);
    CHECK(ended == errc::lost);
    CHECK(a->losses == 1);
    CHECK_FALSE(a->handle->held(s.clock.now()));
    asked(s).all_of({"remove " + s.permit_node(2, 7)});
    CHECK(lost == 0);
    CHECK(part->held(s.clock.now()));
    commit();
    s.clock.run();
    CHECK(told == 3);
    CHECK(ended == errc::lost);
    asked(s).all_of({"remove " + s.permit_node(2, 7)}); // it was not sent
}

TEST_CASE("the holder of several permits is asked by the node of any; what is split off, by its own")
{
    semaphore_scene s;
    const auto a = s.hold_three();
    const auto watch = [&s](int uuid) { return "watch " + s.permit_node(uuid, uuid + 5); };
    int requests = 0, of_the_part = 0;
    a->handle->on_revoked([&] { ++requests; });
    s.clock.run();
    asked(s).all_of({watch(2), watch(3), watch(4)});
    asked(s).to(watch(2)).show(5, "me").to(watch(3)).show(5, "").to(watch(4)).show(5, "__REVOKE__\n");
    CHECK(requests == 0);
    s.event(store::event_kind::data_changed, s.permit_node(3, 8));
    asked(s).only(watch(3)).show(5, "__REVOKE__");
    CHECK(requests == 1);
    CHECK(a->handle->held(s.clock.now()));
    CHECK(a->losses == 0);

    const auto part = a->handle->split(1);
    REQUIRE(part);
    part->on_revoked([&] { ++of_the_part; });
    s.clock.run();
    asked(s).only(watch(4)).show(5, "me");
    // On the next connection all are looked at again.
    s.disconnect();
    s.connect(5, false);
    asked(s).all_of({watch(2), watch(3), watch(4)});
    asked(s).to(watch(2)).show(5, "me").to(watch(3)).show(5, "me").to(watch(4)).show(5, "__REVOKE__");
    CHECK(of_the_part == 1);
    CHECK(requests == 1);
    part->release({});
    s.event(store::event_kind::data_changed, s.permit_node(4, 9));
    asked(s).all_of({"remove " + s.permit_node(4, 9)}); // nobody looks at it any more
}

TEST_CASE("whoever wanted to hear of requests to let go is kept no longer than the permits")
{
    semaphore_scene s;
    const auto a = s.hold_three();
    const auto listener = std::make_shared<int>();
    a->handle->on_revoked([listener] {});
    SUBCASE("released")
        a->handle->release({});
    SUBCASE("split off, all of them") {
        const auto all = a->handle->split(3);
        all->release({});
    }
    SUBCASE("lost") {
        for (int n = 7; n <= 9; ++n)
            s.event(store::event_kind::deleted, s.permit_node(n - 5, n));
    }
    s.clock.run();
    CHECK(listener.use_count() == 1);
}

// Who holds permits: what is split off, lost, asked for and committed.
#include "semaphore_scene.hpp"

#include <memory>
#include <string>

using namespace zklock;
using namespace zklock::unit;

TEST_SUITE("semaphore, holders")
{
    TEST_CASE("lost with the session; what was split off is held by itself")
    {
        semaphore_scene s;
        const auto a = s.want(3, permits_of(3));
        s.give_line();
        s.servers.take().done(
            {"/s/leases/" + s.permit(2, 7), "/s/leases/" + s.permit(3, 8), "/s/leases/" + s.permit(4, 9)});
        s.clock.run();
        s.list({s.permit(2, 7), s.permit(3, 8), s.permit(4, 9)});
        REQUIRE(a->ended == error_code());
        int losses = 0;
        CHECK_FALSE(a->handle->split(4, {}));
        CHECK_FALSE(a->handle->split(0, {}));
        const auto part = a->handle->split(2, [&] { ++losses; });
        REQUIRE(part);
        CHECK(part->count() == 2);
        CHECK(part->given().node == "/s/leases/" + s.permit(3, 8));
        CHECK(part->given().fencing_token == a->given.fencing_token);
        s.event(store::event_kind::deleted, "/s/leases/" + s.permit(4, 9));
        CHECK(losses == 1);
        CHECK(a->losses == 0);
        CHECK(a->handle->held(s.clock.now()));
        CHECK_FALSE(part->held(s.clock.now()));
        s.servers.observer->on_disconnected();
        s.servers.observer->on_expired();
        s.clock.run();
        CHECK(a->losses == 1);
        CHECK_FALSE(a->handle->held(s.clock.now()));
        CHECK_FALSE(a->handle->split(1, {}));
    }

    TEST_CASE("a commit looks for the node of each permit that is still there when it is sent")
    {
        semaphore_scene s;
        const auto a = s.hold_three();
        int lost = 0, told = 0;
        error_code ended;
        const auto commit = [&] {
            s.operations->commit(transaction().set("/stock", "1"), {a->handle, a->given},
                                      [&](error_code ec, const commit_result&) {
                                          ++told;
                                          ended = ec;
                                      });
        };
        commit();
        CHECK(s.servers.pending() ==
              "batch " + s.check(2, 7) + ", " + s.check(3, 8) + ", " + s.check(4, 9) + ", set /stock");
        s.servers.take().done({});
        s.clock.run();
        CHECK(told == 1);
        CHECK_FALSE(ended);

        // One of them is split off meanwhile: it is no business of this one's any more.
        s.servers.observer->on_disconnected();
        s.clock.run();
        commit();
        const auto part = a->handle->split(1, [&] { ++lost; });
        REQUIRE(part);
        s.connect(5, false);
        CHECK(s.servers.pending() == "batch " + s.check(2, 7) + ", " + s.check(3, 8) + ", set /stock");
        s.servers.take().fail(1, outcome::no_node); // not the first
        s.clock.run();
        CHECK(told == 2);
        CHECK(ended == make_error_code(errc::lost));
        CHECK(a->losses == 1);
        CHECK_FALSE(a->handle->held(s.clock.now()));
        CHECK(s.servers.pending() == "remove /s/leases/" + s.permit(2, 7));
        CHECK(lost == 0);
        CHECK(part->held(s.clock.now()));
        commit();
        s.clock.run();
        CHECK(told == 3);
        CHECK(ended == make_error_code(errc::lost));
        CHECK(s.servers.pending() == "remove /s/leases/" + s.permit(2, 7)); // it was not sent
    }

    TEST_CASE("the holder of several permits is asked by the node of any; what is split off, by its own")
    {
        semaphore_scene s;
        const auto a = s.hold_three();
        const auto permits = [&s](int first, int last) {
            std::string text;
            for (int i = first; i <= last; ++i)
                text += (i == first ? "watch /s/leases/" : ", watch /s/leases/") + s.permit(i, i + 5);
            return text;
        };
        const auto show = [&s](const std::string& data) {
            s.servers.take().show(5, data);
            s.clock.run();
        };
        int asked = 0, part_asked = 0;
        a->handle->on_revoked([&] { ++asked; });
        s.clock.run();
        CHECK(s.servers.pending() == permits(2, 4));
        for (const char* data : {"me", "", "__REVOKE__\n"})
            show(data);
        CHECK(asked == 0);
        s.event(store::event_kind::data_changed, "/s/leases/" + s.permit(3, 8));
        CHECK(s.servers.pending() == permits(3, 3));
        show("__REVOKE__");
        CHECK(asked == 1);
        CHECK(a->handle->held(s.clock.now()));
        CHECK(a->losses == 0);

        const auto part = a->handle->split(1, {});
        REQUIRE(part);
        part->on_revoked([&] { ++part_asked; });
        s.clock.run();
        CHECK(s.servers.pending() == permits(4, 4));
        show("me");
        // On the next connection all are looked at again.
        s.servers.observer->on_disconnected();
        s.clock.run();
        s.connect(5, false);
        REQUIRE(s.servers.requests.size() == 3);
        for (int i = 0; i < 3; ++i) {
            const auto look = s.servers.take();
            look.show(5, look.what == permits(4, 4) ? "__REVOKE__" : "me");
        }
        s.clock.run();
        CHECK(part_asked == 1);
        CHECK(asked == 1);
        part->release({});
        s.event(store::event_kind::data_changed, "/s/leases/" + s.permit(4, 9));
        CHECK(s.servers.pending() == "remove /s/leases/" + s.permit(4, 9)); // nobody looks at it any more
    }

    TEST_CASE("whoever wanted to hear of requests to let go is kept no longer than the permits")
    {
        semaphore_scene s;
        const auto a = s.hold_three();
        const auto listener = std::make_shared<int>();
        a->handle->on_revoked([listener] {});
        SUBCASE("released") { a->handle->release({}); }
        SUBCASE("split off, all of them")
        {
            const auto all = a->handle->split(3, {});
            all->release({});
        }
        SUBCASE("lost")
        {
            for (int n = 7; n <= 9; ++n)
                s.event(store::event_kind::deleted, "/s/leases/" + s.permit(n - 5, n));
        }
        s.clock.run();
        CHECK(listener.use_count() == 1);
    }
}

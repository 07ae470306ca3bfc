// How permits are granted: the line, the permits, and the looks at them.
#include "semaphore_scene.hpp"

#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::unit;

TEST_SUITE("semaphore")
{
    TEST_CASE("at the head of the line: the node and the list together, then the lock goes back")
    {
        semaphore_scene s;
        const auto a = s.want(1, permits_of(2));
        CHECK(s.servers.pending() == "create /s/locks/_c_00000000-0000-4000-8000-000000000001-lock-, watch /s/locks");
        s.give_line();
        CHECK(s.servers.pending() ==
              "create /s/leases/_c_00000000-0000-4000-8000-000000000002-lease-, children /s/leases");
        s.number(60, 7);
        CHECK_FALSE(a->ended);
        s.list({"foreign", s.permit(2, 7)});
        CHECK(a->ended == error_code());
        CHECK(a->given.node == "/s/leases/" + s.permit(2, 7));
        CHECK(a->given.fencing_token == 50 * 4096);
        CHECK(a->handle->count() == 1);
        CHECK(a->handle->held(s.clock.now()));
        CHECK(s.servers.pending() == "remove /s/locks/" + s.node(1, 0));
        s.answer(outcome::ok);
        a->handle->release({});
        s.clock.run();
        CHECK_FALSE(a->handle->held(s.clock.now()));
        CHECK(s.servers.pending() == "remove /s/leases/" + s.permit(2, 7));
        s.answer(outcome::ok);
        CHECK(s.servers.pending() == "");
    }

    TEST_CASE("several permits are one transaction; without room it watches, and looks again at an event")
    {
        semaphore_scene s;
        const auto a = s.want(2, permits_of(3));
        s.give_line();
        CHECK(s.servers.pending() == "batch create /s/leases/_c_00000000-0000-4000-8000-000000000002-lease-, "
                                     "create /s/leases/_c_00000000-0000-4000-8000-000000000003-lease-, "
                                     "children /s/leases");
        s.servers.take().done({"/s/leases/" + s.permit(2, 8), "/s/leases/" + s.permit(3, 9)});
        s.clock.run();
        s.list({"x", "y", s.permit(2, 8), s.permit(3, 9)});
        CHECK(s.servers.pending() == "watch children /s/leases");
        s.list({"x", "y", s.permit(2, 8), s.permit(3, 9)});
        CHECK(s.servers.pending() == "");
        s.event(store::event_kind::children_changed, "/s/leases");
        CHECK(s.servers.pending() == "watch children /s/leases");
        s.list({"x", s.permit(2, 8), s.permit(3, 9)});
        CHECK(a->ended == error_code());
        CHECK(a->handle->count() == 2);
        CHECK(s.servers.pending() == "remove /s/locks/" + s.node(1, 0) + ", unwatch /s/leases");
    }

    TEST_CASE("not granted on a list that lacks one of its permits: it begins anew")
    {
        semaphore_scene s;
        const auto a = s.want(1, permits_of(1));
        s.give_line();
        s.number(60, 7);
        s.list({});
        CHECK_FALSE(a->ended);
        CHECK(s.servers.pending() == "remove /s/locks/" + s.node(1, 0) +
                                         ", create /s/locks/_c_00000000-0000-4000-8000-000000000003-lock-");
    }

    TEST_CASE("withdrawn while its node is made: that is deleted when it is known")
    {
        semaphore_scene s;
        const auto a = s.want(1, permits_of(1));
        s.give_line();
        CHECK(a->handle->withdraw());
        CHECK_FALSE(a->handle->withdraw());
        s.number(60, 7);
        CHECK(s.servers.pending() == "children /s/leases, remove /s/locks/" + s.node(1, 0) + ", remove /s/leases/" +
                                         s.permit(2, 7));
        CHECK_FALSE(a->ended);
    }

    TEST_CASE("a try reads, and writes nothing when there is no room")
    {
        semaphore_scene s;
        const auto a = s.want(2, permits_of(2), recipes::patience::look_once);
        CHECK(s.servers.pending() == "children /s/leases");
        s.list({"x"});
        CHECK(a->ended == make_error_code(errc::busy));
        CHECK(s.servers.pending() == "");
        const auto b = s.want(1, permits_of(2), recipes::patience::look_once);
        s.list({"x"});
        CHECK(s.servers.pending() == "children /s/locks");
        s.list({});
        CHECK(s.servers.pending() == "create /s/locks/_c_00000000-0000-4000-8000-000000000001-lock-, watch /s/locks");
        s.give_line();
        s.number(60, 7);
        s.list({"x", "y", s.permit(2, 7)}); // somebody who does not stand in line
        CHECK(b->ended == make_error_code(errc::busy));
        CHECK(s.servers.pending() == "remove /s/leases/" + s.permit(2, 7) + ", remove /s/locks/" + s.node(1, 0));
    }

    TEST_CASE("a try that ends with the connection has nothing sent any more for those behind it in the line")
    {
        semaphore_scene s;
        const auto tries = s.want(1, permits_of(1), recipes::patience::look_once);
        s.list({});
        s.list({});
        const auto waits = s.want(1, permits_of(1));
        s.clock.skip(15s); // the lease is over: nobody is granted
        s.number(50, 0);
        s.alone(1, 50);
        s.number(52, 2); // somebody is between them, of whom it knows nothing yet
        while (!s.servers.requests.empty() && s.servers.requests.front().what == "sync /")
            s.answer(outcome::ok);
        REQUIRE(s.servers.pending() == "");
        CHECK_FALSE(tries->ended);
        s.servers.observer->on_disconnected();
        s.clock.run();
        CHECK(tries->ended == make_error_code(errc::not_connected));
        CHECK_FALSE(waits->ended);
        CHECK(s.servers.pending() == "");
    }

    TEST_CASE("whoever has been told that the shared count has changed is not granted by the old one")
    {
        semaphore_scene s;
        auto of_the_count = permits_of(2);
        of_the_count.count_path = "/n";
        const auto a = s.want(1, of_the_count);
        s.give_line();
        const auto count = [&](int n) {
            s.servers.take().show_version(0, recipes::count_data(n));
            s.clock.run();
        };
        const auto full_list = [&] { s.list({"x", "y", s.permit(2, 7)}); };
        s.number(60, 7);
        count(2);
        full_list();
        CHECK(s.servers.pending() == "watch /n, watch children /s/leases");
        count(2);
        full_list();
        s.event(store::event_kind::children_changed, "/s/leases");
        CHECK(s.servers.pending() == "watch children /s/leases");
        s.event(store::event_kind::data_changed, "/n"); // before the answer: the server knew of it first
        s.list({"x", s.permit(2, 7)});
        CHECK_FALSE(a->ended);
        REQUIRE(s.servers.pending() == "get /n, children /s/leases");
        count(0);
        s.list({"x", s.permit(2, 7)});
        CHECK_FALSE(a->ended);
        CHECK(s.servers.pending() == "watch /n, watch children /s/leases");
        count(2);
        s.list({"x", s.permit(2, 7)});
        CHECK(a->ended == error_code());
    }

    TEST_CASE("a container for permits that are not wanted any more is deleted")
    {
        semaphore_scene s;
        const auto a = s.want(1, permits_of(2));
        s.give_line();
        s.answer(outcome::no_node);
        CHECK(s.servers.pending() == "children /s/leases, container /s/leases");
        CHECK(a->handle->withdraw());
        s.clock.run();
        s.answer(outcome::no_node);
        s.answer(outcome::ok);
        CHECK_FALSE(s.answer_until("nothing else"));
        s.come_to_rest();
        CHECK(s.answer_until("remove /s/leases"));
    }

    TEST_CASE("layouts, and a shared count as bytes")
    {
        const recipes::semaphore_layout curator("/s", naming::curator);
        CHECK(curator.line == "/s/locks");
        CHECK(curator.permits == "/s/leases");
        CHECK(curator.made_from("_c_u-lease-", "_c_u-lease-0000000001"));
        CHECK_FALSE(curator.made_from("_c_u-lease-", "_c_v-lease-0000000001"));
        const recipes::semaphore_layout kazoo("/s", naming::kazoo);
        CHECK(kazoo.line == "/s-__lock__");
        CHECK(kazoo.permits == "/s");
        CHECK(kazoo.node_name("12-34") == "1234");
        CHECK(kazoo.made_from("1234", "1234"));
        CHECK_FALSE(kazoo.made_from("1234", "12345"));
        CHECK(recipes::permit_sequence("_c_u-lease-0000000012") == 12);
        CHECK(recipes::permit_sequence("_c_u-lease--2147483648") == -2147483647 - 1);
        CHECK(recipes::permit_sequence("1234") == 0);
        CHECK(recipes::count_data(258) == std::string("\0\0\1\2", 4));
        for (const std::int32_t n : {0, 1, 255, 65536, 2147483647, -1})
            CHECK(recipes::count_of(recipes::count_data(n)) == n);
        CHECK_FALSE(recipes::count_of("12345"));
        CHECK_FALSE(recipes::count_of(""));
    }
}

// How permits are granted: the line, the permits, and the looks at them.
#include "semaphore_scene.hpp"

using namespace zklock::unit;

TEST_CASE("at the head of the line: the node and the list together, then the lock goes back")
{
    semaphore_scene s;
    const auto a = s.want(1, permits_of(2));
    asked(s).all_of({s.line_up(1), "watch /s/locks"});
    s.give_line();
    asked(s).all_of({"create " + s.permit_prefix(2), "children /s/leases"});
    asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
    CHECK_FALSE(a->ended);
    asked(s).to("children /s/leases").list({"foreign", s.permit(2, 7)});
    CHECK(a->ended == error_code());
    CHECK(a->given.node == s.permit_node(2, 7));
    CHECK(a->given.fencing_token == 50 * 4096);
    CHECK(a->handle->count() == 1);
    CHECK(a->handle->held(s.clock.now()));
    asked(s).to(s.leave_line(1)).ends(outcome::ok).nothing_else();
    s.release(*a);
    CHECK_FALSE(a->handle->held(s.clock.now()));
    asked(s).to("remove " + s.permit_node(2, 7)).ends(outcome::ok).nothing_else();
}

TEST_CASE("several permits are one transaction; without room it watches, and looks again at an event")
{
    semaphore_scene s;
    const auto a = s.want_at_head(2, permits_of(3));
    const std::string both = "batch create " + s.permit_prefix(2) + ", create " + s.permit_prefix(3);
    asked(s).all_of({both, "children /s/leases"});
    asked(s).to(both).done({s.permit_node(2, 8), s.permit_node(3, 9)});
    asked(s).to("children /s/leases").list({"x", "y", s.permit(2, 8), s.permit(3, 9)});
    asked(s).to("watch children /s/leases").list({"x", "y", s.permit(2, 8), s.permit(3, 9)}).nothing_else();
    s.event(store::event_kind::children_changed, "/s/leases");
    asked(s).only("watch children /s/leases").list({"x", s.permit(2, 8), s.permit(3, 9)});
    CHECK(a->ended == error_code());
    CHECK(a->handle->count() == 2);
    asked(s).all_of({s.leave_line(1), "unwatch /s/leases"});
}

TEST_CASE("after a refusal where the permits are, the head counts on no event: it looks again")
{
    semaphore_scene s;
    const auto a = s.hold_three();
    const auto b = s.want(1, permits_of(3));
    asked(s).to(s.line_up(5)).number(70, 1);
    const std::vector<std::string> full{s.permit(2, 7), s.permit(3, 8), s.permit(4, 9), s.permit(6, 10)};
    asked(s).to("create " + s.permit_prefix(6)).number(71, 10);
    asked(s).only("watch children /s/leases").list(full).nothing_else();
    s.release(*a);
    asked(s).to_batch_of(3).fails_at(0, outcome::no_auth);
    for (const int n : {2, 3})
        asked(s).to("remove " + s.permit_node(n, n + 5)).ends(outcome::ok);
    asked(s).to("remove " + s.permit_node(4, 9)).ends(outcome::no_auth);
    CHECK_FALSE(b->ended);
    asked(s).only("watch children /s/leases").list({s.permit(4, 9), s.permit(6, 10)});
    CHECK(b->ended == error_code());
}

TEST_CASE("after a look that was refused, too")
{
    semaphore_scene s;
    const auto a = s.want_at_head(1, permits_of(1));
    asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
    asked(s).to("children /s/leases").list({"x", s.permit(2, 7)});
    asked(s).only("watch children /s/leases").list({"x", s.permit(2, 7)}).nothing_else();
    const auto refused = s.want(1, permits_of(1), acquire_mode::look_once);
    asked(s).only("children /s/leases").ends(outcome::no_auth);
    CHECK(refused->ended == errc::access_denied);
    CHECK_FALSE(a->ended);
    asked(s).only("watch children /s/leases").list({s.permit(2, 7)});
    CHECK(a->ended == error_code());
}

TEST_CASE("after a create or a list of the head that was refused, too: the next head watches anew")
{
    semaphore_scene s;
    const auto a = s.want_at_head(2, permits_of(4));
    const std::vector<std::string> full{"x", "y", "z", s.permit(2, 7), s.permit(3, 8)};
    const std::vector<std::string> room{s.permit(2, 7), s.permit(3, 8)};
    asked(s).to_batch_of(2).done({s.permit_node(2, 7), s.permit_node(3, 8)});
    asked(s).to("children /s/leases").list(full).only("watch children /s/leases").list(full).nothing_else();
    const auto refused = s.want(1, permits_of(4));
    asked(s).only(s.line_up(4)).number(61, 1).nothing_else();
    const auto b = s.want(1, permits_of(4));
    asked(s).only(s.line_up(5)).number(62, 2).nothing_else();
    s.event(store::event_kind::children_changed, "/s/leases");
    asked(s).only("watch children /s/leases").list(room);
    CHECK(a->ended == error_code()); // and the watch is left to those behind it
    asked(s).all_of({s.leave_line(1), "create " + s.permit_prefix(6), "children /s/leases"});
    asked(s).to(s.leave_line(1)).ends(outcome::ok);
    SUBCASE("a create") {
        asked(s).to("create " + s.permit_prefix(6)).ends(outcome::no_auth);
        CHECK(refused->ended == errc::access_denied);
        asked(s).to("children /s/leases").list(room);
    }
    SUBCASE("a list") {
        asked(s).to("create " + s.permit_prefix(6)).number(63, 9).to("children /s/leases").ends(outcome::no_auth);
        CHECK(refused->ended == errc::access_denied);
        asked(s).to("remove " + s.permit_node(6, 9)).ends(outcome::ok);
    }
    asked(s).to("remove /s/locks/" + scene::node(4, 1)).ends(outcome::ok);
    asked(s).all_of({"create " + s.permit_prefix(7), "watch children /s/leases"});
    asked(s).to("create " + s.permit_prefix(7)).number(64, 10);
    asked(s).only("watch children /s/leases").list({s.permit(2, 7), s.permit(3, 8), s.permit(7, 10)});
    CHECK(b->ended == error_code());
}

TEST_CASE("not granted on a list that lacks one of its permits: it begins anew")
{
    semaphore_scene s;
    const auto a = s.want_at_head(1, permits_of(1));
    asked(s).to("create " + s.permit_prefix(2)).number(60, 7).to("children /s/leases").list({});
    CHECK_FALSE(a->ended);
    asked(s).all_of({s.leave_line(1), s.line_up(3)});
}

TEST_CASE("withdrawn while its node is made: that is deleted when it is known")
{
    semaphore_scene s;
    const auto a = s.want_at_head(1, permits_of(1));
    CHECK(a->handle->withdraw());
    CHECK_FALSE(a->handle->withdraw());
    asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
    asked(s).all_of({"children /s/leases", s.leave_line(1), "remove " + s.permit_node(2, 7)});
    CHECK_FALSE(a->ended);
}

TEST_CASE("a try reads, and writes nothing when there is no room")
{
    semaphore_scene s;
    const auto a = s.want(2, permits_of(2), acquire_mode::look_once);
    asked(s).only("children /s/leases").list({"x"}).nothing_else();
    CHECK(a->ended == errc::busy);
    const auto b = s.want(1, permits_of(2), acquire_mode::look_once);
    asked(s).to("children /s/leases").list({"x"});
    asked(s).only("children /s/locks").list({});
    asked(s).all_of({s.line_up(1), "watch /s/locks"});
    s.give_line();
    asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
    asked(s).to("children /s/leases").list({"x", "y", s.permit(2, 7)}); // somebody who does not stand in line
    CHECK(b->ended == errc::busy);
    asked(s).all_of({"remove " + s.permit_node(2, 7), s.leave_line(1)});
}

TEST_CASE("a try that ends with the connection has nothing sent any more for those behind it in the line")
{
    semaphore_scene s;
    const auto tries = s.want(1, permits_of(1), acquire_mode::look_once);
    asked(s).to("children /s/leases").list({}).to("children /s/locks").list({});
    const auto waits = s.want(1, permits_of(1));
    s.clock.skip(15s); // the lease is over: nobody is granted
    asked(s).to(s.line_up(1)).number(50, 0).to("watch /s/locks").alone(1, 50);
    asked(s).to(s.line_up(2)).number(52, 2); // somebody is between them, of whom it knows nothing yet
    s.answer_syncs();
    asked(s).nothing_else();
    CHECK_FALSE(tries->ended);
    s.disconnect();
    CHECK(tries->ended == errc::not_connected);
    CHECK_FALSE(waits->ended);
    asked(s).nothing_else();
}

TEST_CASE("a container for permits that are not wanted any more is deleted")
{
    semaphore_scene s;
    const auto a = s.want_at_head(1, permits_of(2));
    asked(s).to("create " + s.permit_prefix(2)).ends(outcome::no_node);
    asked(s).all_of({"children /s/leases", "container /s/leases"});
    s.withdraw(*a);
    asked(s).to("children /s/leases").ends(outcome::no_node).to("container /s/leases").stat(s.fresh(50));
    CHECK_FALSE(s.answer_until("nothing else"));
    s.come_to_rest();
    CHECK(s.answer_until("exists /s/leases"));
    asked(s).to("exists /s/leases").stat(s.fresh(50));
    CHECK(s.answer_until("remove /s/leases"));
}

TEST_CASE("layouts")
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
}

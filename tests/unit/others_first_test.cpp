// Others are why a wait was in vain only if the servers have said so of late; what nobody looks at any more counts for
// nothing, nor do those of ours who wait for an answer themselves.
#include "waiting_scene.hpp"

#include "recipes/composed/multi_acquisition.hpp"

using namespace zklock::unit;

TEST_CASE("one who has left saw somebody: that may be long ago for whoever comes later")
{
    waiting_scene s;
    const auto first = s.wait_behind_theirs(400ms);
    s.pass(400ms);
    CHECK(first->ended == errc::timed_out);
    s.come_to_rest();
    const auto late = s.wait_for(1s);
    SUBCASE("its create is not answered") {
    }
    SUBCASE("and nobody tells who is before it")
        asked(s).to("create /p/" + prefix(2)).number(103, 3);
    s.pass(1s);
    CHECK(late->ended == errc::not_connected);
    wait_report told = late->handle->describe_wait();
    told.no_answer = true;
    const std::string begin = "waited 0.000 s for /p: no answer of the servers in time; when last seen, ";
    CHECK(to_string(told) == begin + "it is not known who holds it, 1 before us");
    told.held_by.emplace().node = "/p/" + theirs;
    CHECK(to_string(told).starts_with(begin + "held by (node /p/" + theirs + ", "));
}

TEST_CASE("one of ours looks on: so it is known of all")
{
    waiting_scene s;
    s.wait_behind_theirs(100s);
    const auto late = s.wait_for(1s); // its create is not answered
    s.pass(1s);
    CHECK(late->ended == errc::timed_out);
}

TEST_CASE("one of ours has looked on until the connection was lost, a moment ago")
{
    waiting_scene s;
    s.wait_behind_theirs(100s);
    s.lose_connection();
    const auto late = s.wait_for(50ms);
    s.clock.pass(50ms);
    CHECK(late->ended == errc::timed_out);
}

TEST_CASE("a semaphore: the head of the line is one of ours and waits for an answer itself")
{
    for (const bool in_line : {true, false}) {
        CAPTURE(in_line);
        waiting_scene s;
        const auto head = s.want_for(1s);
        s.give_line();
        const auto behind = s.want_for(900ms);
        if (in_line)
            asked(s).to("create /s/locks/" + prefix(3)).number(71, 1);
        s.pass(1s);
        CHECK(behind->ended == errc::not_connected);
        CHECK(head->ended == errc::not_connected);
    }
}

TEST_CASE("a semaphore: the head of the line is one of ours and finds no room")
{
    waiting_scene s;
    const auto head = s.want_for(1s);
    s.give_line();
    asked(s).to("create " + s.permit_prefix(2)).number(70, 8);
    asked(s).to("children /s/leases").list({s.permit(2, 8), s.permit(90, 7)});
    const auto behind = s.want_for(900ms);
    s.pass(1s);
    CHECK(behind->ended == errc::timed_out);
    CHECK(head->ended == errc::timed_out);
}

TEST_CASE("a look that finds it busy: whether by others")
{
    waiting_scene s;
    const auto look = [&s](const std::string& path) { return s.acquire(path, {}, acquire_mode::look_once); };
    const auto busy_for_others = [](const auto& attempt) {
        CHECK(attempt->ended == errc::busy);
        return attempt->handle->refused_for_others();
    };
    SUBCASE("they are listed") {
        const auto a = look("/p");
        asked(s).only("children /p").list({theirs});
        CHECK(busy_for_others(a));
    }
    SUBCASE("they are found before its node") {
        const auto a = look("/p");
        asked(s).to("children /p").list({});
        asked(s).to("create /p/" + prefix(1)).number(101, 1).to("watch /p").show(two_children());
        asked(s).to("children /p").list({theirs, s.node(1, 1)});
        CHECK(busy_for_others(a));
    }
    SUBCASE("one of ours holds it") {
        s.hold("/p", 0);
        CHECK(busy_for_others(look("/p")));

        CHECK(busy_for_others(s.acquire_by<scene::attempt>([&s](recipes::acquire_call call) {
            call.mode = acquire_mode::look_once;
            return recipes::multi_acquisition::start(*s.session, {{"/p", s.lock_of("/p")}}, std::move(call));
        })));
    }
    SUBCASE("one of ours waits for others") {
        s.wait_behind_theirs(100s);
        CHECK(busy_for_others(look("/p")));
    }
    SUBCASE("one of ours waits for an answer") {
        s.wait_for(100s);
        CHECK_FALSE(busy_for_others(look("/p")));
    }
}

TEST_CASE("a look for permits that finds none: whether by others")
{
    waiting_scene s;
    SUBCASE("they are listed") {
        const auto a = s.want(1, permits_of(1), acquire_mode::look_once);
        asked(s).to("children /s/leases").list({"x"});
        CHECK(a->ended == errc::busy);
        CHECK(a->handle->refused_for_others());
    }
    SUBCASE("they have come since") {
        const auto a = s.want(1, permits_of(1), acquire_mode::look_once);
        asked(s).to("children /s/leases").list({}).to("children /s/locks").list({});
        s.give_line();
        asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
        asked(s).to("children /s/leases").list({"x", s.permit(2, 7)});
        CHECK(a->ended == errc::busy);
        CHECK(a->handle->refused_for_others());
    }
    SUBCASE("one of ours is before it in the line and waits for an answer") {
        const auto a = s.want(1, permits_of(1), acquire_mode::look_once);
        s.want_for(100s);
        asked(s).to("children /s/leases").list({});
        CHECK(a->ended == errc::busy);
        CHECK_FALSE(a->handle->refused_for_others());
    }
}

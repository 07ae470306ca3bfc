// Who has waited in vain hears for whom, or that the servers were silent; it costs one read, and only those who were
// about to give up.
#include "waiting_scene.hpp"

#include "recipes/composed/multi_acquisition.hpp"

using namespace zklock::unit;

TEST_CASE("the holder is looked at shortly before the deadline, once for all, and told at the deadline")
{
    waiting_scene s;
    const auto first = s.wait_behind_theirs(2s);
    const auto second = s.wait_for(2s);
    asked(s).to("create /p/" + prefix(2)).number(102, 2).nothing_else();
    s.pass(1700ms);
    asked(s).nothing_else();
    s.pass(100ms);
    asked(s).only("get /p/" + theirs).show_node(s.of_session(9, 1'000'000s), "they\nrow=7");
    s.pass(150ms);
    CHECK_FALSE(first->ended);
    s.pass(50ms);
    CHECK(first->ended == errc::timed_out);
    CHECK(second->ended == errc::timed_out);

    const wait_report told = first->handle->describe_wait();
    CHECK(told.path == "/p");
    CHECK(told.node == "/p/" + s.node(1, 1));
    CHECK(told.before_us == 1);
    REQUIRE(told.held_by);
    CHECK(told.held_by->node == "/p/" + theirs);
    CHECK(told.held_by->identifier == "they");
    CHECK(told.held_by->properties.at("row") == "7");
    CHECK(told.held_by->session_id == 9);
    CHECK_FALSE(told.held_by->ours);
    CHECK(told.held_by->created == std::chrono::system_clock::time_point(1'000'000s));
    CHECK(to_string(told) == "waited 0.000 s for /p: held by \"they\" (session 0x9, node /p/" + theirs +
                                 ", there since 1970-01-12T13:46:40.000Z), 1 before us");
    CHECK(second->handle->describe_wait().held_by->identifier == "they");
    CHECK(second->handle->describe_wait().path == ""); // it is told once
}

TEST_CASE("whoever is granted before that asks for nothing; one who is behind the same holder later looks again")
{
    waiting_scene s;
    const auto a = s.wait_behind_theirs(2s);
    s.pass(1700ms);
    s.event(store::event_kind::deleted, "/p/" + theirs);
    CHECK(a->ended == error_code());
    s.pass(2s);
    asked(s).nothing_else();

    waiting_scene t;
    const auto first = t.wait_behind_theirs(1s);
    const auto later = t.wait_for(5s);
    asked(t).to("create /p/" + prefix(2)).number(102, 2);
    t.pass(800ms);
    asked(t).only("get /p/" + theirs).show(9, "they");
    t.pass(200ms);
    REQUIRE(first->ended == errc::timed_out);
    asked(t).to("remove /p/" + t.node(1, 1)).ends(outcome::ok);
    asked(t).to("children /p").list({theirs, t.node(2, 2)});
    asked(t).only("watch /p/" + t.node(2, 2)).show(5, "me");
    t.pass(3'800ms);
    asked(t).to("get /p/" + theirs).show(9, "they");
    t.pass(200ms);
    REQUIRE(later->ended == errc::timed_out);
    CHECK(later->handle->describe_wait().held_by->identifier == "they");
}

TEST_CASE("a holder that has gone behind the back of who waits is not named: the next one is, who holds now")
{
    const std::string next = "other-lock-0000000001"; // whom alone it watches
    waiting_scene s;
    const auto a = s.wait_for(2s);
    asked(s).to("create /p/" + prefix(1)).number(102, 2).to("watch /p").show(two_children());
    asked(s).to("children /p").list({theirs, next, s.node(1, 2)}).to("watch /p/" + next).show(8, "next");
    s.pass(1800ms);
    asked(s).to("get /p/" + theirs).ends(outcome::no_node).to("children /p").list({next, s.node(1, 2)});
    SUBCASE("and is read") {
        asked(s).to("get /p/" + next).show(8, "next");
        s.pass(200ms);
        REQUIRE(a->ended == errc::timed_out);
        const wait_report told = a->handle->describe_wait();
        REQUIRE(told.held_by);
        CHECK(told.held_by->node == "/p/" + next);
        CHECK(told.held_by->identifier == "next");
        CHECK(told.before_us == 1);
    }
    SUBCASE("and is gone, too: nothing is asked for ever") {
        asked(s).to("get /p/" + next).ends(outcome::no_node);
        s.pass(200ms);
        REQUIRE(a->ended == errc::timed_out);
        CHECK_FALSE(s.servers.asks("children"));
        CHECK(a->handle->describe_wait().held_by->node == "/p/" + next);
    }
}

TEST_CASE("no answer is waited for")
{
    waiting_scene s;
    const auto a = s.wait_behind_theirs(400ms);
    s.pass(300ms);
    const auto look = asked(s).only("get /p/" + theirs).kept();
    s.pass(100ms);
    CHECK(a->ended == errc::timed_out);
    const wait_report told = a->handle->describe_wait();
    REQUIRE(told.held_by);
    CHECK(told.held_by->node == "/p/" + theirs);
    CHECK(told.held_by->identifier == "");
    CHECK(to_string(told) ==
          "waited 0.000 s for /p: held by (node /p/" + theirs + ", which could not be read in time), 1 before us");
    look.show(9, "they");
    s.clock.run();
}

TEST_CASE("a look whose answer is lost is not repeated for those who have gone; the path may go before it comes")
{
    waiting_scene s;
    const auto a = s.wait_behind_theirs(400ms);
    s.pass(300ms);
    REQUIRE(s.servers.asks("get /p/" + theirs));
    s.lose_connection();
    s.pass(100ms);
    CHECK(a->ended == errc::timed_out);
    CHECK(a->handle->describe_wait().before_us == 1); // as last seen
    s.connect(5, false);
    CHECK_FALSE(s.servers.asks("get /p/" + theirs));

    waiting_scene t;
    const auto b = t.wait_behind_theirs(400ms);
    t.pass(300ms);
    const auto look = asked(t).only("get /p/" + theirs).kept();
    t.semaphores.reset();
    t.locks.reset();
    look.show(9, "they");
    t.clock.run();
    CHECK_FALSE(b->ended);
    CHECK(b->handle->describe_wait().path == "");
}

TEST_CASE("held by this client, and without a node")
{
    waiting_scene s;
    s.options.node_budget = 1; // one node for each path
    s.destroy();
    s.start();
    s.semaphores.emplace(*s.locks);
    s.connect();
    const auto held = s.hold("/p", 0);
    const auto a = s.wait_for(1s);
    const auto b = s.wait_for(1s);
    s.pass(750ms);
    asked(s).to("get /p/" + s.node(1, 0)).show_node(s.of_session(5, 7s), "me");
    s.pass(250ms);
    REQUIRE(a->ended == errc::timed_out);
    const wait_report told = b->handle->describe_wait();
    CHECK(told.node == "");
    CHECK(told.held_by->ours);
    CHECK(told.held_by->identifier == "me");
    CHECK(told.before_us == 1); // the other one has given up before
    CHECK(a->handle->describe_wait().before_us == 1);
}

TEST_CASE("a semaphore: the place in the line, and one who holds permits")
{
    waiting_scene s;
    const auto head = s.want_for(1s);
    s.give_line();
    asked(s).to("create /s/leases/" + s.permit(2, 0).substr(0, s.permit(2, 0).size() - 10)).number(70, 8);
    const std::string holder = s.permit(90, 7);
    asked(s).to("children /s/leases").list({s.permit(2, 8), holder});
    const auto behind = s.want_for(960ms);
    asked(s).to("create /s/locks/" + prefix(3)).number(71, 1);
    asked(s).only("watch children /s/leases").list({s.permit(2, 8), holder}).nothing_else();
    s.pass(750ms);
    asked(s).to("children /s/leases").list({s.permit(2, 8), holder});
    asked(s).to("get /s/leases/" + holder).show(9, "they"); // for both
    s.pass(250ms);
    REQUIRE(head->ended == errc::timed_out);
    REQUIRE(behind->ended == errc::timed_out);
    CHECK_FALSE(s.servers.asks("get /s/leases/"));
    const wait_report of_head = head->handle->describe_wait();
    CHECK(of_head.path == "/s");
    CHECK(of_head.node == "/s/leases/" + s.permit(2, 8));
    CHECK(of_head.before_us == 0);
    CHECK(of_head.held_by->identifier == "they");
    CHECK(of_head.permits == 1);
    CHECK(to_string(of_head).starts_with("waited 0.000 s for /s: its only permit is held by \"they\" (session 0x9, "));
    CHECK(to_string(of_head).ends_with("; first in the line"));
    wait_report of_two = of_head;
    of_two.permits = 2;
    of_two.before_us = 3;
    CHECK(to_string(of_two).find(": one of 2 permits is held by \"they\" (") != std::string::npos);
    CHECK(to_string(of_two).ends_with("; 3 before us in the line"));
    of_two.held_by.reset();
    CHECK(to_string(of_two) == "waited 0.000 s for /s: it is not known who holds its permits; 3 before us in the line");
    const wait_report of_behind = behind->handle->describe_wait();
    CHECK(of_behind.permits == 1);
    CHECK(of_behind.path == "/s");
    CHECK(of_behind.node == "/s/locks/" + s.node(3, 1));
    CHECK(of_behind.held_by->node == "/s/leases/" + holder);
}

TEST_CASE("servers that are silent for the session's time-out: nobody knows any more that others are first")
{
    waiting_scene s;
    const auto in_time = s.wait_behind_theirs(9'900ms);
    const auto late = s.wait_for(10'100ms);
    s.clock.pass(9'900ms); // no heartbeat is answered
    CHECK(in_time->ended == errc::timed_out);
    s.clock.pass(200ms);
    CHECK(late->ended == errc::not_connected);
    CHECK(late->handle->describe_wait().before_us == 1); // as last seen
}

TEST_CASE("nobody was seen before it, because no answer has come in time")
{
    waiting_scene s;
    const auto a = s.wait_for(50ms);
    s.pass(50ms);
    CHECK(a->ended == errc::not_connected);
    wait_report told = a->handle->describe_wait();
    CHECK(told.path == "/p");
    told.no_answer = true;
    CHECK(to_string(told) == "waited 0.000 s for /p: no answer of the servers in time");

    const auto first = s.wait_for(100ms, "/q"); // whether a 0 was there is not known
    asked(s).to("create /q/" + prefix(2)).number(102, 1);
    const auto second = s.wait_for(90ms, "/q"); // ends while the first waits
    s.pass(100ms);
    CHECK(first->ended == errc::not_connected);
    CHECK(second->ended == errc::not_connected); // that one was no obstacle
}

TEST_CASE("connected again, and the lease is not renewed yet: no lock until then, and the report says so")
{
    waiting_scene s;
    s.clock.pass(11s); // the lease ends
    s.reconnect();
    REQUIRE(s.session->connected());
    const auto a = s.wait_for(500ms);
    asked(s).to("create /p/" + prefix(1)).number(101, 0).to("watch /p").alone(1, 101);
    s.pass(500ms);
    CHECK(a->ended == errc::not_connected);
    wait_report told = a->handle->describe_wait();
    told.no_answer = true;
    told.without_lease_for = s.session->without_lease_for();
    CHECK(told.without_lease_for == 500ms);
    CHECK(to_string(told) == "waited 0.000 s for /p: connected, for 0.500 s now, but a lock is granted only once the "
                             "lease is renewed");
    s.pass(3s);
    CHECK_FALSE(s.session->without_lease_for());
}

TEST_CASE("what an earlier session has shown counts for nothing")
{
    waiting_scene s;
    const auto a = s.wait_behind_theirs(2s);
    s.lose_connection();
    s.servers.observer->on_expired();
    s.connect(6);
    s.pass(2s);
    CHECK(a->ended == errc::not_connected);
}

TEST_CASE("readers are no reason for a reader that waits, and one for a writer")
{
    using kind = contender_kind;
    waiting_scene s;
    const auto reads = s.wait_for(100s, "/p", kind::reader);
    asked(s).to("create /p/" + prefix(1, "__READ__")).number(100, 0).to("watch /p").alone(1, 100);
    REQUIRE(reads->ended == error_code());
    const auto reads_too = s.wait_for(50ms, "/p", kind::reader); // its create is not answered
    const auto writes = s.wait_for(50ms, "/p", kind::writer);
    s.pass(50ms);
    CHECK(reads_too->ended == errc::not_connected);
    CHECK(writes->ended == errc::timed_out);
}

TEST_CASE("a reader behind a writer of ours that waits itself, for a reader")
{
    using kind = contender_kind;
    for (const bool held : {true, false}) {
        CAPTURE(held);
        waiting_scene s;
        const int first = held ? 0 : 1; // of a 1 it is not known whether a 0 was there
        const auto reads = s.wait_for(100s, "/p", kind::reader);
        asked(s).to("create /p/" + prefix(1, "__READ__")).number(100, first);
        if (held)
            asked(s).to("watch /p").alone(1, 100);
        CHECK(reads->ended.has_value() == held);
        const auto writes = s.wait_for(100ms, "/p", kind::writer);
        asked(s).to("create /p/" + prefix(2, "__WRIT__")).number(101, first + 1);
        const auto reads_too = s.wait_for(50ms, "/p", kind::reader);
        asked(s).to("create /p/" + prefix(3, "__READ__")).number(102, first + 2);
        s.pass(50ms);
        CHECK(reads_too->ended == (held ? errc::timed_out : errc::not_connected));
        s.pass(50ms);
        CHECK(writes->ended == (held ? errc::timed_out : errc::not_connected));
    }
}

TEST_CASE("permits: timed out if the last list has shown none to be free, though nobody knows who has them")
{
    for (const bool listed : {true, false}) {
        CAPTURE(listed);
        waiting_scene s;
        const auto a = s.want_for(1s);
        s.give_line();
        asked(s).to("create " + s.permit_prefix(2)).number(70, 8);
        if (listed)
            asked(s).to("children /s/leases").list({s.permit(2, 8), s.permit(90, 7)});
        s.pass(1s);
        CHECK(a->ended == (listed ? errc::timed_out : errc::not_connected));
        CHECK_FALSE(a->handle->describe_wait().held_by);
    }
}

TEST_CASE("several locks: the member that is waited for decides, and is told")
{
    for (const bool contended : {true, false}) {
        CAPTURE(contended);
        waiting_scene s;
        s.hold("/o", 0);
        const std::string other = contended ? "/o" : "/z";
        const auto a = s.acquire_by<scene::attempt>([&](recipes::acquire_call call) {
            call.deadline = s.clock.now() + 1s;
            return recipes::multi_acquisition::start(*s.session, {{"/a", s.lock_of("/a")}, {other, s.lock_of(other)}},
                                                     std::move(call));
        });
        asked(s).to("create /a/" + prefix(2)).number(101, 0).to("watch /a").alone(1, 101);
        s.pass(1s);
        CHECK(a->ended == (contended ? errc::timed_out : errc::not_connected));
        CHECK(a->handle->describe_wait().path == other);
    }
}

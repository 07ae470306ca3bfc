// What the listener of a semaphore is told, what its nodes say of their holder, and how often it tries to get them.
#include "journal.hpp"
#include "semaphore_scene.hpp"

#include <boost/asio/error.hpp>

using namespace zklock::unit;

namespace {

struct heard_semaphores : semaphore_scene {
    std::shared_ptr<journal> told = std::make_shared<journal>();
    std::vector<std::string> logged;

    explicit heard_semaphores(log_level from = log_level::warning) : semaphore_scene(keep_log(logged, from)) {}

    semaphore_options heard(unsigned permits)
    {
        auto o = permits_of(permits);
        o.listener = told;
        return o;
    }
    std::shared_ptr<attempt> hold_two()
    {
        const auto a = want(2, heard(3));
        give_line();
        asked(*this).to_batch_of(2).done({permit_node(2, 7), permit_node(3, 8)});
        asked(*this).to("children /s/leases").list({permit(2, 7), permit(3, 8)});
        asked(*this).to(leave_line(1)).ends(outcome::ok).nothing_else();
        CHECK(told->text() == "1 queued, 1 acquired");
        return a;
    }
};

} // namespace

// --- semaphore, events -----------------------------------------------------------------------------------------------

TEST_CASE("queued in the line, acquired with the first permit, released with the last")
{
    heard_semaphores s;
    const auto a = s.want(2, s.heard(3));
    CHECK(s.told->text() == "");
    asked(s).to(s.line_up(1)).number(50, 6);
    asked(s).to("watch /s/locks").alone(7, 50);
    asked(s).to_batch_of(2).done({s.permit_node(2, 7), s.permit_node(3, 8)});
    CHECK(s.told->text() == "");
    asked(s).to("children /s/leases").list({s.permit(2, 7), s.permit(3, 8)});
    REQUIRE(s.told->events.size() == 2);
    const lock_event queued = s.told->events.front();
    CHECK(s.told->text() == "1 queued, 1 acquired");
    CHECK(queued.path == "/s");
    CHECK(queued.node == "/s/locks/" + scene::node(1, 6));
    CHECK(queued.sequence == 6);
    CHECK(s.told->last.node == s.permit_node(2, 7));
    CHECK(s.told->last.sequence == 6);
    CHECK(s.told->last.fencing_token == a->given.fencing_token);
    asked(s).to("remove /s/locks/" + scene::node(1, 6)).ends(outcome::ok);
    s.release(*a);
    asked(s).to_batch_of(2).fails_at(0, outcome::no_auth).to("remove " + s.permit_node(2, 7)).ends(outcome::ok);
    CHECK(s.told->text() == "");
    asked(s).to("remove " + s.permit_node(3, 8)).ends(outcome::ok);
    CHECK(s.told->text() == "1 released");
    CHECK(s.told->last.node == s.permit_node(2, 7));
}

TEST_CASE("permits that were split off are of the same hold: released with the last, or lost with the first")
{
    for (const bool lost : {false, true}) {
        CAPTURE(lost);
        heard_semaphores s;
        const auto a = s.hold_two();
        const auto part = a->handle->split(1);
        REQUIRE(part);
        s.release(*a);
        asked(s).to("remove " + s.permit_node(2, 7)).ends(outcome::ok);
        CHECK(s.told->text() == "");
        if (lost) {
            s.end_session();
            CHECK(s.told->text() == "1 lost");
            CHECK(s.told->last.loss.reason == loss_reason::session_expired);
        }
        part->release({});
        s.clock.run();
        if (!lost)
            asked(s).to("remove " + s.permit_node(3, 8)).ends(outcome::ok);
        CHECK(s.told->text() == (lost ? "" : "1 released"));
    }
}

TEST_CASE("a permit that others delete is a loss, and no release")
{
    heard_semaphores s;
    const auto a = s.hold_two();
    a->handle->on_revoked([] {}); // so that its nodes are watched
    s.clock.run();
    asked(s).to("watch " + s.permit_node(2, 7)).show(5, "me").to("watch " + s.permit_node(3, 8)).show(5, "me");
    s.event(store::event_kind::deleted, s.permit_node(3, 8));
    CHECK(s.told->text() == "1 lost");
    asked(s).to("remove " + s.permit_node(2, 7)).ends(outcome::ok);
    CHECK(s.told->text() == "");
    CHECK(a->losses == 1);
    CHECK(s.logged == std::vector{"lost /s, held for 0.000 s (node " + s.permit(3, 8) + ", token " +
                                  std::to_string(a->given.fencing_token) + "): somebody else has deleted its node"});
}

TEST_CASE("the log says when a holder of permits is asked to let go, and when it does")
{
    heard_semaphores s(log_level::info);
    const auto a = s.hold_two();
    a->handle->on_revoked([] {});
    s.clock.run();
    asked(s).to("watch " + s.permit_node(2, 7)).show(5, "me").to("watch " + s.permit_node(3, 8)).show(5, "me");
    s.logged.clear();
    s.event(store::event_kind::data_changed, s.permit_node(3, 8));
    asked(s).to("watch " + s.permit_node(3, 8)).show(5, std::string(queue::revocation_request));
    CHECK(s.logged == std::vector{"is asked to let go of permits of /s: " + s.permit(2, 7)});
    s.logged.clear();
    s.release(*a);
    CHECK(s.logged == std::vector{"lets go of permits of /s, as it was asked to: " + s.permit(2, 7)});
}

TEST_CASE("the log says whose node others have deleted while he waited: a permit's, and the place in the line")
{
    heard_semaphores s;
    s.want(2, s.heard(3));
    s.give_line();
    asked(s).to_batch_of(2).done({s.permit_node(2, 7), s.permit_node(3, 8)});
    SUBCASE("a permit that it has already") {
        asked(s).to("children /s/leases").list({s.permit(3, 8)});
        CHECK(s.logged ==
              std::vector{"somebody else has deleted the node of a waiter for /s, which has lost its place: " +
                          s.permit(2, 7)});
    }
    SUBCASE("its place") {
        s.event(store::event_kind::deleted, "/s/locks/" + s.node(1, 0));
        CHECK(s.logged ==
              std::vector{"somebody else has deleted the node of a waiter for /s/locks, which has lost its place: " +
                          s.node(1, 0)});
    }
}

TEST_CASE("whoever fails is told why; a close ends what is left")
{
    heard_semaphores s;
    s.want(0, s.heard(3));
    CHECK(s.told->text() == "1 failed: " + make_error_code(errc::invalid_option).message());
    const auto a = s.want(1, s.heard(3));
    s.withdraw(*a);
    const std::string stopped = error_code(boost::asio::error::operation_aborted).message();
    CHECK(s.told->text() == "2 failed: " + stopped);
    s.close();
    CHECK(s.told->text() == "");
    s.want(1, s.heard(3));
    CHECK(s.told->text().ends_with(" failed: " + make_error_code(errc::closed).message()));
}

TEST_CASE("the place in the line is no loss of the user's: the log warns of permits only")
{
    for (const bool granted : {false, true}) {
        CAPTURE(granted);
        heard_semaphores s;
        std::size_t warnings = 0;
        s.semaphores.reset();
        s.destroy();
        s.options.log = store::leveled_log{
            log_level::warning, [&](log_level, std::string_view text) { warnings += text.starts_with("lost /s"); }};
        s.uuids = 0;
        s.start();
        s.semaphores.emplace(*s.locks);
        s.connect();
        std::shared_ptr<heard_semaphores::attempt> a;
        if (granted) {
            a = s.hold_two();
        } else {
            a = s.want(2, s.heard(3));
            s.give_line();
        }
        s.end_session();
        CHECK(s.told->text() == (granted ? "1 lost" : ""));
        CHECK(warnings == (granted ? 1 : 0));
    }
}

TEST_CASE("properties are on the nodes of the line and of the permits")
{
    heard_semaphores s;
    auto o = permits_of(1);
    o.properties = {{"zone", "7"}};
    const auto a = s.want(1, o);
    CHECK(s.servers.requests.front().data == "me\nzone=7");
    s.give_line();
    CHECK(s.servers.requests.front().what == "create " + s.permit_prefix(2));
    CHECK(s.servers.requests.front().data == "me\nzone=7");
    o.properties = {{"a\n", "b"}};
    CHECK(s.want(1, o)->ended == errc::invalid_option);
}

// --- semaphore, attempts ---------------------------------------------------------------------------------------------

TEST_CASE("a deletion by others ends an attempt: in the line, and of a permit at its head")
{
    for (const unsigned allowed : {1u, 2u})
        for (const bool at_head : {false, true}) {
            CAPTURE(allowed);
            CAPTURE(at_head);
            heard_semaphores s;
            auto o = s.heard(1);
            o.max_attempts = allowed;
            const auto a = s.want(1, o);
            if (at_head) {
                s.give_line();
                asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
                asked(s).to("children /s/leases").list({"x"}); // where that is not
            } else {
                asked(s).to(s.line_up(1)).number(50, 3); // behind others
                s.event(store::event_kind::deleted, "/s/locks/" + scene::node(1, 3));
            }
            if (allowed == 1)
                CHECK(a->ended == errc::lost);
            else
                CHECK_FALSE(a->ended);
            if (allowed == 1)
                CHECK(s.told->text() == "1 queued, 1 failed: " + make_error_code(errc::lost).message());
            CHECK(s.servers.asks(s.line_up(at_head ? 3 : 2)) == (allowed == 2));
        }
}

TEST_CASE("a permit's create that a connection took along, and that was not done, ends one, too")
{
    for (const unsigned allowed : {1u, 2u}) {
        CAPTURE(allowed);
        semaphore_scene s;
        auto o = permits_of(3);
        o.max_attempts = allowed;
        const auto a = s.want_at_head(2, o);
        s.reconnect();
        s.answer_syncs();
        asked(s).to("children /s/leases").list({});
        if (allowed == 1)
            CHECK(a->ended == errc::not_connected);
        else
            CHECK_FALSE(a->ended);
        CHECK(s.servers.asks("batch create " + s.permit_prefix(4)) == (allowed == 2)); // one attempt for both
    }
}

TEST_CASE("so does a session that expires at the head of the line")
{
    semaphore_scene s;
    auto o = permits_of(1);
    o.max_attempts = 1;
    const auto a = s.want_at_head(1, o);
    s.end_session();
    CHECK(a->ended == errc::session_expired);
}

TEST_CASE("what cost it attempts in the line counts at its head")
{
    semaphore_scene s;
    auto o = permits_of(1);
    o.max_attempts = 2;
    const auto a = s.want(1, o);
    s.reconnect(); // the create in the line is lost, and was not done
    s.answer_syncs();
    asked(s).to("children /s/locks").list({});
    asked(s).to(s.line_up(2)).number(51, 0).to("watch /s/locks").alone(1, 51);
    asked(s).to("create " + s.permit_prefix(3)).number(60, 7);
    CHECK_FALSE(a->ended);
    asked(s).to("children /s/leases").list({}); // others have deleted it
    CHECK(a->ended == errc::lost);
}

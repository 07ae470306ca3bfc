// The path of a semaphore by itself: when it is idle, what it leaves to the next one, and what is told at its end.
#include "semaphore_scene.hpp"

using namespace zklock::unit;

namespace {

/// The path /s of a client, with nobody who keeps it.
struct semaphore_path_scene : semaphore_scene {
    semaphore_path_scene() : path(make_another(permits_of(2))) {}

    std::unique_ptr<recipes::semaphore_path> make_another(const semaphore_options& o)
    {
        return std::make_unique<recipes::semaphore_path>(*locks, "/s", recipes::semaphore_path_options(o),
                                                         [this] { ++told_idle; });
    }
    std::shared_ptr<attempt> want(std::size_t count, acquire_mode mode = acquire_mode::wait)
    {
        return want_of(*path, count, permits_of(2), mode, "/s");
    }
    /// One permit of two, by the node 2 with the number 7.
    std::shared_ptr<attempt> want_and_hold()
    {
        const auto a = want(1);
        give_line();
        asked(*this).to("create " + permit_prefix(2)).number(60, 7).to("children /s/leases").list({permit(2, 7)});
        REQUIRE(a->ended == error_code());
        asked(*this).to("remove /s/locks/" + node(1, 0)).ends(outcome::ok).nothing_else();
        return a;
    }
    const std::string held_permit = "/s/leases/" + permit(2, 7);

    int told_idle = 0;
    std::unique_ptr<recipes::semaphore_path> path;
};

} // namespace

TEST_CASE("a new one is idle; in use it is not; when the last permit is gone it tells so, once and later")
{
    semaphore_path_scene s;
    CHECK(s.path->idle());
    const auto a = s.want_and_hold();
    CHECK_FALSE(s.path->idle());
    s.release(*a);
    CHECK_FALSE(s.path->idle()); // the delete is under way
    const auto remove = asked(s).to("remove " + s.held_permit).nothing_else().kept();
    remove.answer(outcome::ok);
    CHECK(s.path->idle());
    CHECK(s.told_idle == 0);
    s.clock.run();
    CHECK(s.told_idle == 1);
    CHECK_FALSE(s.path->finished());
    s.path->retire();
    CHECK(s.path->finished()); // it has no watch to take back
    asked(s).nothing_else();
}

TEST_CASE("somebody who looks once and finds no room leaves nothing")
{
    semaphore_path_scene s;
    const auto a = s.want(1, acquire_mode::look_once);
    asked(s).to("children /s/leases").list({"x", "y"}).nothing_else();
    CHECK(a->ended == errc::busy);
    CHECK(s.path->idle());
    CHECK(s.told_idle == 1);
}

TEST_CASE("those who look once share a list: one is under way at a time")
{
    semaphore_path_scene s;
    const auto a = s.want(1, acquire_mode::look_once);
    const auto b = s.want(1, acquire_mode::look_once);
    const auto c = s.want(1, acquire_mode::look_once);
    asked(s).only("children /s/leases").list({"x", "y"});
    CHECK(a->ended == errc::busy);
    CHECK_FALSE(b->ended);
    asked(s).only("children /s/leases").list({"x", "y"}).nothing_else();
    CHECK(b->ended == errc::busy);
    CHECK(c->ended == errc::busy);
}

TEST_CASE("whoever waits is refused and leaves line and permits, and whoever holds is not")
{
    semaphore_path_scene s;
    const auto holder = s.want_and_hold();
    const auto waiter = s.want(1);
    asked(s).to("create /s/locks/" + prefix(3)).number(61, 1).to("create " + s.permit_prefix(4)).number(62, 8);
    s.path->refuse_all(errc::invalid_option);
    s.clock.run();
    CHECK(waiter->ended == errc::invalid_option);
    CHECK(holder->handle->held(s.clock.now()));
    CHECK(holder->losses == 0);
    asked(s).to("remove /s/locks/" + scene::node(3, 1)).to("remove /s/leases/" + s.permit(4, 8));
}

TEST_CASE("stopped, it ends waits and releases with the reason, and holders lose")
{
    semaphore_path_scene s;
    const auto holder = s.want_and_hold();
    const auto waiter = s.want(2);
    SUBCASE("held") {
        s.path->stop(errc::closed);
        s.clock.run();
        CHECK(holder->losses == 1);
    }
    SUBCASE("being released") {
        std::optional<error_code> released;
        holder->handle->release([&](error_code ec) { released = ec; });
        s.clock.run();
        s.path->stop(errc::closed);
        s.clock.run();
        CHECK(holder->losses == 0);
        CHECK(released == errc::closed);
    }
    CHECK(waiter->ended == errc::closed);
    CHECK_FALSE(holder->handle->held(s.clock.now()));
}

TEST_CASE("while its session should be over, no release waits; if it goes on, the permit is given back")
{
    semaphore_path_scene s;
    const auto holder = s.want_and_hold();
    s.lose_connection();
    int releases = 0;
    holder->handle->release([&](error_code ec) { releases += !ec; });
    s.clock.run();
    CHECK(releases == 0);
    s.clock.pass(15s); // the time-out, the margin and a tick
    CHECK(releases == 1);
    s.connect(5, false);
    asked(s).to("remove " + s.held_permit).ends(outcome::ok);
    CHECK(releases == 1);
}

TEST_CASE("destroyed, it tells nobody anything any more")
{
    semaphore_path_scene s;
    const auto holder = s.want_and_hold();
    const auto waiter = s.want(2);
    s.path.reset();
    s.clock.run();
    CHECK_FALSE(waiter->ended);
    CHECK_FALSE(waiter->handle->withdraw());
    CHECK(holder->losses == 0);
    CHECK(s.told_idle == 0);
}

TEST_CASE("deletes that are due can be sent before anything else is")
{
    semaphore_path_scene s;
    const auto holder = s.want_and_hold();
    s.path->nodes().drop(holder->handle->nodes.front());
    asked(s).nothing_else();
    s.path->nodes().flush();
    asked(s).to("remove " + s.held_permit).nothing_else();
}

TEST_CASE("what it has made for the permits goes over to the next one, if that has its permits in the same place")
{
    semaphore_path_scene s;
    const auto a = s.want(1);
    s.give_line();
    asked(s).to("create " + s.permit_prefix(2)).ends(outcome::no_node);
    CHECK_FALSE(s.path->next_making().made->any());
    asked(s).to("container /s/leases").stat(s.fresh(41));
    CHECK(s.path->next_making().path == "/s/leases");
    REQUIRE(s.path->next_making().made->any());
    semaphore_options elsewhere = permits_of(2);
    elsewhere.names = naming::kazoo;
    const auto other = s.make_another(elsewhere);
    other->take_containers(*s.path);
    CHECK_FALSE(other->next_making().made->any());
    const auto next = s.make_another(permits_of(3));
    next->take_containers(*s.path);
    CHECK(next->next_making().made->any());
    CHECK_FALSE(s.path->next_making().made->any());
}

TEST_CASE("users of a path agree on names and on what limits the permits")
{
    const recipes::semaphore_path_options usual(permits_of(2));
    semaphore_options other = permits_of(2);
    SUBCASE("")
        other.names = naming::kazoo;
    SUBCASE("")
        other.permits = 3;
    SUBCASE("")
        other.count_path = "/n";
    SUBCASE("")
        other.check_permits = !other.check_permits;
    CHECK_FALSE(recipes::semaphore_path_options(other) == usual);
    semaphore_options own = permits_of(2); // what is one contender's affair
    own.identifier = "somebody";
    own.parents = parent_kind::persistent;
    CHECK(recipes::semaphore_path_options(own) == usual);
}

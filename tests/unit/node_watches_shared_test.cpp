// One watch of a path for all of a client: users who wait, and recipes.
#include "watch_scene.hpp"

#include "semaphore_scene.hpp"

using namespace zklock::unit;
using goal = recipes::node_wait::goal;
using store::event_kind;

namespace {

struct shared_watch_scene : watch_scene {
    /// A lock of this client waits for somebody else's.
    std::shared_ptr<attempt> wait_for_another()
    {
        const auto a = acquire("/p");
        const std::string own = "/p/" + node(1, 1);
        asked(*this).to("create /p/" + prefix(1)).number(42, 1).to("watch /p").show(two_children(42));
        asked(*this).to("children /p").list({node(9, 0), node(1, 1)}, two_children(42));
        asked(*this).to("watch " + own).show({}).to("watch " + other).show({}).nothing_else();
        CHECK_FALSE(a->ended);
        return a;
    }

    const std::string other = "/p/" + node(9, 0);
};

} // namespace

TEST_CASE("one watch for users and locks: nobody takes it from the other")
{
    shared_watch_scene s;
    const auto lock = s.wait_for_another();
    waiting& w = s.wait(goal::deleted, s.other);
    asked(s).only("watch exists " + s.other).stat(made(41)).nothing_else();
    SUBCASE("the user goes first: it is the lock's") {
        CHECK(s.withdraw(w));
        asked(s).nothing_else();
        s.event(event_kind::deleted, s.other);
        CHECK(lock->ended == error_code());
    }
    SUBCASE("the lock goes first: it is the user's, who takes it back at the end") {
        s.withdraw(*lock);
        asked(s).to("remove /p/" + scene::node(1, 1)).ends(outcome::ok).nothing_else();
        CHECK_FALSE(w.ended);
        CHECK(s.withdraw(w));
        asked(s).only("unwatch " + s.other).ends(outcome::ok).nothing_else();
    }
    SUBCASE("it tells both") {
        s.event(event_kind::deleted, s.other);
        CHECK(w.ended_well());
        CHECK(lock->ended == error_code());
        asked(s).nothing_else();
    }
    SUBCASE("when it is used up, both arm it again") {
        s.event(event_kind::data_changed, s.other);
        asked(s).all_of({"watch exists " + s.other, "watch " + s.other});
    }
}

TEST_CASE("whose watch it is then is asked when it is taken back, not before")
{
    shared_watch_scene s;
    s.session->requests().window = 1;
    waiting& w = s.wait(goal::deleted, s.other);
    asked(s).only("watch exists " + s.other).stat(made(41)).nothing_else();
    told<node_content> before;
    nodes::get(*s.session, "/b", before.teller());
    CHECK(s.withdraw(w)); // waits for the answer to the other one
    const auto read = asked(s).only("get /b").kept();
    const auto lock = s.wait_for_another();
    read.show(0, "");
    s.clock.run();
    asked(s).nothing_else();
    s.event(event_kind::deleted, s.other);
    CHECK(lock->ended == error_code());
}

TEST_CASE("a watch for a creation that a lock asks for, too, and does not get, is taken back behind its answer")
{
    shared_watch_scene s;
    const auto lock = s.acquire("/p");
    asked(s).to("create /p/" + prefix(1)).number(42, 1).to("watch /p").show(two_children(42));
    asked(s).to("children /p").list({scene::node(9, 0), scene::node(1, 1)}, two_children(42));
    asked(s).to("watch /p/" + scene::node(1, 1)).show({});
    waiting& w = s.wait(goal::deleted, s.other);
    asked(s).to("watch exists " + s.other).ends(outcome::no_node); // the lock's answer is due
    CHECK(w.ended_well());
    asked(s).to("watch " + s.other).ends(outcome::no_node);
    CHECK(lock->ended == error_code());
    asked(s).only("exists " + s.other).ends(outcome::no_node);
    asked(s).only("unwatch " + s.other).ends(outcome::ok).nothing_else();
}

TEST_CASE("what is left to a lock's path at rest goes with that path")
{
    shared_watch_scene s;
    const auto lock = s.hold("/p", 0);
    waiting& w = s.wait(goal::children_changed, made(1), "/p");
    asked(s).to("watch children /p").list({}, made(1)).nothing_else();
    CHECK(s.withdraw(w));
    asked(s).nothing_else();
    s.give_back(*lock).nothing_else();
    s.come_to_rest();
    asked(s).only("unwatch /p").ends(outcome::ok).nothing_else();
}

TEST_CASE("a semaphore that needs its watch no more leaves it to a user, and the path takes back what he leaves")
{
    semaphore_scene s;
    recipes::node_watches watches(*s.session);
    const auto a = s.want_at_head(2, permits_of(3));
    const std::string both = "batch create " + s.permit_prefix(2) + ", create " + s.permit_prefix(3);
    asked(s).to(both).done({s.permit_node(2, 8), s.permit_node(3, 9)});
    asked(s).to("children /s/leases").list({"x", "y", s.permit(2, 8), s.permit(3, 9)});
    asked(s).to("watch children /s/leases").list({"x", "y", s.permit(2, 8), s.permit(3, 9)}).nothing_else();
    const auto user = watches.wait("/s/leases", goal::deleted, made(1), [](error_code, const auto&) {});
    asked(s).only("watch exists /s/leases").stat(made(1)).nothing_else();
    s.event(event_kind::children_changed, "/s/leases");
    asked(s).only("watch children /s/leases").list({"x", s.permit(2, 8), s.permit(3, 9)});
    CHECK(a->ended == error_code());
    asked(s).only(s.leave_line(1)).ends(outcome::ok).nothing_else(); // it would be taken from the user
    CHECK(user->withdraw() == recipes::withdrawable::withdrawal::withdrawn);
    asked(s).nothing_else();
    a->handle->release({});
    s.clock.run();
    asked(s).to_batch_of(2).done({});
    s.come_to_rest();
    CHECK(s.servers.asks("unwatch /s/leases"));
}

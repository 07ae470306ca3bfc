// Nodes that the client may not read: servers from 3.8.4 and 3.9.2 on do not even tell it that they exist.
#include "container_scene.hpp"

using namespace zklock::unit;

namespace {

/// Somebody may have put another in the path's place meanwhile, who numbers from 0. Whoever comes next, by that uuid,
/// looks at it before it is granted.
void looks_again(scene& s, const scene::attempt& next, int uuid, const char* mark = "lock-")
{
    const std::string create = "create /p/" + prefix(uuid, mark);
    asked(s).all_of({create, "watch /p"});
    asked(s).to(create).number(60, 1);
    CHECK_FALSE(next.ended);
    asked(s).to("watch /p").show({});
    asked(s).only("children /p").list({scene::node(9, 0, mark), scene::node(uuid, 1, mark)});
    asked(s).all_of({"watch /p/" + scene::node(uuid, 1, mark), "watch /p/" + scene::node(9, 0, mark)});
    CHECK_FALSE(next.ended);
}

} // namespace

TEST_CASE("a downgrade that is refused when it is repeated, and a reader's node that is there, but not for us to see: "
          "it was done")
{
    connected_scene s;
    const auto a = s.hold_as_writer("/p");
    const std::string reader = scene::downgraded("/p");
    std::optional<error_code> downgraded;
    CHECK(a->handle->downgrade([&](error_code ec, const recipes::grant&) { downgraded = ec; }));
    asked(s).only(scene::downgrade("/p")).ends(outcome::unknown);
    s.reconnect();
    asked(s).to(scene::downgrade("/p")).ends(outcome::no_auth).to("exists " + reader).ends(outcome::no_auth);
    CHECK(downgraded == error_code());
    s.release(*a);
    CHECK(s.servers.pending() == "remove " + reader);
}

TEST_CASE("after a refusal at the path its watch counts for nothing: whoever comes next looks again")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    s.release(*a);
    const std::string removed = "remove /p/" + scene::node(1, 0);
    int uuid = 2;
    SUBCASE("of a create") {
        asked(s).only(removed).ends(outcome::ok);
        const auto refused = s.acquire("/p");
        asked(s).only("create /p/" + prefix(uuid++)).ends(outcome::no_auth);
        CHECK(refused->ended == errc::access_denied);
    }
    SUBCASE("of a delete") {
        asked(s).only(removed).ends(outcome::no_auth);
        s.clock.pass(1s);
        asked(s).only(removed).ends(outcome::ok);
    }
    SUBCASE("of a list") {
        asked(s).only(removed).ends(outcome::ok);
        const auto refused = s.acquire("/p", {}, acquire_mode::look_once);
        asked(s).only("children /p").ends(outcome::no_auth);
        CHECK(refused->ended == errc::access_denied);
    }
    looks_again(s, *s.acquire("/p"), uuid);
}

TEST_CASE("after a refused list that was to tell who is before a node, too")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    s.give_back(*a);
    const auto refused = s.acquire("/p");
    asked(s).only("create /p/" + prefix(2)).number(53, 3); // others have come since
    asked(s).only("children /p").ends(outcome::no_auth);
    CHECK(refused->ended == errc::access_denied);
    asked(s).only("remove /p/" + scene::node(2, 3)).ends(outcome::ok).nothing_else();
    (void)s.acquire("/p");
    asked(s).all_of({"create /p/" + prefix(3), "watch /p", "children /p"});
}

TEST_CASE("after a downgrade that was refused, too")
{
    connected_scene s;
    const auto a = s.hold_as_writer("/p");
    std::optional<error_code> downgraded;
    CHECK(a->handle->downgrade([&](error_code ec, const recipes::grant&) { downgraded = ec; }));
    s.clock.run();
    asked(s).only(scene::downgrade("/p")).ends(outcome::no_auth);
    asked(s).only("exists " + scene::downgraded("/p")).ends(outcome::no_node);
    CHECK(downgraded == errc::access_denied);
    s.give_back(*a).nothing_else();
    looks_again(s, *s.acquire("/p", {}, acquire_mode::wait, contender_kind::writer), 2, "__WRIT__");
}

TEST_CASE("after a refused look at a path that was to be deleted, too")
{
    connected_scene s;
    s.session->set_numbers_scarce_from(1);
    const auto a = s.hold("/p", 0);
    const auto held_back = s.acquire("/p");
    s.give_back(*a);
    asked(s).only("get /p").ends(outcome::no_auth);
    looks_again(s, *held_back, 2);
}

TEST_CASE("after a refused watch of the path the watch of its children counts for nothing, either")
{
    connected_scene s;
    const auto lingering = with(&mutex_options::linger, 1s);
    const auto a = s.hold("/p", 0, lingering);
    s.release(*a);
    asked(s).only("watch children /p").list({scene::node(1, 0)}).nothing_else();
    s.servers.observer->on_node_event(store::event_kind::data_changed, "/p");
    s.clock.pass(2s);
    s.answer_syncs();
    // From here on we may not read it: nobody tells us that its children change.
    asked(s).only("remove /p/" + scene::node(1, 0)).ends(outcome::ok).nothing_else();
    const auto refused = s.acquire("/p", lingering);
    asked(s).to("create /p/" + prefix(2)).number(52, 1).only("watch /p").ends(outcome::no_auth);
    CHECK(refused->ended == errc::access_denied);
    asked(s).only("remove /p/" + scene::node(2, 1)).ends(outcome::ok).nothing_else();
    const auto b = s.acquire("/p", lingering);
    asked(s).to("create /p/" + prefix(3)).number(54, 2).only("watch /p").alone(3, 54).nothing_else();
    CHECK(b->ended == error_code());
    s.release(*b);
    asked(s).only("watch children /p");
}

TEST_CASE("a watch that a refusal has made count for nothing is taken back, once")
{
    connected_scene s;
    const auto a = s.hold("/p", 0);
    s.give_back(*a);
    (void)s.acquire("/p");
    asked(s).only("create /p/" + prefix(2)).ends(outcome::no_auth);
    (void)s.acquire("/p");
    asked(s).to("create /p/" + prefix(3)).ends(outcome::no_auth).to("watch /p").ends(outcome::no_auth);
    s.come_to_rest();
    asked(s).only("unwatch /p").ends(outcome::ok).nothing_else();
    s.come_to_rest();
    asked(s).nothing_else();
}

TEST_CASE("a container that may not be looked at any more is left to the servers, and not asked for again")
{
    container_scene s;
    s.use("/p");
    s.come_to_rest();
    asked(s).only("exists /p").ends(outcome::no_auth).only("unwatch /p").ends(outcome::ok);
    s.come_to_rest();
    asked(s).nothing_else();
}

// Nodes that the client may not read: servers from 3.8.4 and 3.9.2 on do not even tell it that they exist.
#include "container_scene.hpp"

#include <optional>
#include <string>

using namespace zklock;
using namespace zklock::unit;

namespace {

/// Everything goes well up to the next request of that kind.
void answer_up_to(scene& s, const std::string& kind)
{
    while (!s.servers.requests.front().what.starts_with(kind))
        s.answer(outcome::ok);
}

} // namespace

TEST_SUITE("unreadable nodes")
{
    TEST_CASE(
        "a downgrade that is refused when it is repeated, and a reader's node that is there, but not for us to see: "
        "it was done")
    {
        connected_scene s;
        const auto a = s.hold_as_writer("/p");
        const std::string reader = scene::downgraded("/p");
        std::optional<error_code> downgraded;
        CHECK(a->handle->downgrade([&](error_code ec, const recipes::grant&) { downgraded = ec; }));
        s.answer(outcome::unknown);
        s.servers.observer->on_disconnected();
        s.connect(5, false);
        answer_up_to(s, "batch ");
        s.answer(outcome::no_auth);
        answer_up_to(s, "exists ");
        s.answer(outcome::no_auth);
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
        SUBCASE("of a create")
        {
            asked(s).only(removed).ends(outcome::ok);
            const auto refused = s.acquire("/p");
            asked(s).only("create /p/" + prefix(uuid++)).ends(outcome::no_auth);
            CHECK(refused->ended == make_error_code(errc::access_denied));
        }
        SUBCASE("of a delete")
        {
            asked(s).only(removed).ends(outcome::no_auth);
            s.clock.pass(1s);
            asked(s).only(removed).ends(outcome::ok);
        }
        SUBCASE("of a list")
        {
            asked(s).only(removed).ends(outcome::ok);
            const auto refused = s.acquire("/p", {}, recipes::patience::look_once);
            asked(s).only("children /p").ends(outcome::no_auth);
            CHECK(refused->ended == make_error_code(errc::access_denied));
        }
        // Somebody may have put another in its place meanwhile, who numbers from 0.
        const auto b = s.acquire("/p");
        asked(s).all_of({"create /p/" + prefix(uuid), "watch /p"});
        asked(s).to("create /p/" + prefix(uuid)).number(60, 1);
        CHECK_FALSE(b->ended);
        asked(s).to("watch /p").show({});
        asked(s).only("children /p").list({scene::node(9, 0), scene::node(uuid, 1)});
        asked(s).all_of({"watch /p/" + scene::node(uuid, 1), "watch /p/" + scene::node(9, 0)});
        CHECK_FALSE(b->ended);
    }

    TEST_CASE("a watch that a refusal has made count for nothing is taken back, once")
    {
        connected_scene s;
        const auto a = s.hold("/p", 0);
        s.release(*a);
        asked(s).only("remove /p/" + scene::node(1, 0)).ends(outcome::ok);
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
        answer_up_to(s, "exists ");
        s.answer(outcome::no_auth);
        CHECK(s.servers.pending() == "unwatch /p");
        s.answer(outcome::ok);
        s.come_to_rest();
        CHECK(s.servers.pending() == "");
    }
}

#include "session_scene.hpp"

using namespace zklock::unit;

namespace {

/// The create of an acquire that was then withdrawn has been done, and its answer was lost; the next server, a leader
/// that others had replaced, did not list its node.
struct lost_scene : connected_scene {
    explicit lost_scene(int creates = 1)
    {
        std::vector<std::shared_ptr<attempt>> all;
        while (std::ssize(all) < creates)
            all.push_back(acquire("/a"));
        lose_connection();
        for (const auto& a : all)
            CHECK(a->handle->withdraw());
        clock.run();
        connect(5, false);
        CHECK(servers.pending() == "sync /, children /a");
        asked(*this).to("sync /").ends(outcome::ok).to("children /a").list({}).nothing_else();
    }
    /// Looks for it by the next server, and so far.
    void look_again()
    {
        reconnect();
        CHECK(servers.pending() == "sync /, children /a");
    }
    static std::string removal() { return "remove /a/" + node(1, 0); }
};

} // namespace

TEST_CASE("what nobody wants any more is looked for at each connection, and deleted where it appears")
{
    lost_scene s;
    s.look_again();
    asked(s).to("sync /").ends(outcome::ok).to("children /a").list({});
    s.look_again();
    asked(s).to("sync /").ends(outcome::ok).to("children /a").list({"_c_x-lock-0000000009", s.node(1, 0)});
    CHECK(s.servers.pending() == s.removal());
    s.lose_connection(); // it may have been deleted, or not
    s.connect(5, false);
    asked(s).to("sync /").ends(outcome::ok).to("children /a").list({s.node(1, 0)});
    asked(s).only(s.removal()).ends(outcome::ok);
    s.reconnect();
    asked(s).only("children /a").list({}); // it is not back, on servers that were set back
    s.answer_syncs();
    asked(s).nothing_else();
}

TEST_CASE("no longer than until a server that has looked, too, has done a write")
{
    lost_scene s;
    SUBCASE("over the connection over which it was missed") {
    }
    SUBCASE("over a later one, afterwards") {
        s.look_again();
        asked(s).to("sync /").ends(outcome::ok).to("children /a").list({});
    }
    const auto a = s.acquire("/b");
    asked(s).to("create /b/" + prefix(2)).number(50, 0);
    s.reconnect();
    CHECK(a->ended == error_code());
    CHECK_FALSE(s.servers.asks("/a"));
}

TEST_CASE("a write before the list is as good; but one that was not done says nothing")
{
    for (const outcome of_the_write : {outcome::ok, outcome::no_auth}) {
        lost_scene s;
        s.look_again();
        const auto look = asked(s).to("sync /").kept();
        const auto listing = asked(s).to("children /a").kept();
        const auto a = s.acquire("/b");
        if (of_the_write == outcome::ok)
            asked(s).to("create /b/" + prefix(2)).number(50, 0);
        else
            asked(s).to("create /b/" + prefix(2)).ends(of_the_write);
        look.answer(outcome::ok);
        listing.list_with({}, s.fresh(60));
        s.reconnect();
        const bool forgotten = !s.servers.asks("children /a");
        CHECK(forgotten == (of_the_write == outcome::ok));
    }
}

TEST_CASE("no longer than until a second look in vain, a margin after the first")
{
    constexpr auto margin = 2125ms; // of 10 s
    lost_scene s;
    const auto look_after = [&s](lease_clock::duration pause, const std::vector<std::string>& seen) {
        s.lose_connection();
        s.clock.pass(pause);
        s.connect(5, false);
        if (s.servers.pending() == "children /a") // one that was deleted may not be back
            asked(s).only("children /a").list({});
        const bool asks = s.servers.asks("children /a");
        if (asks)
            asked(s).to("sync /").ends(outcome::ok).to("children /a").list(seen);
        return asks;
    };
    SUBCASE("not by one that comes sooner, however often") {
        CHECK(look_after(1000ms, {}));
        CHECK(look_after(1000ms, {}));
        CHECK(look_after(margin - 2000ms - 1ms, {}));
        CHECK(look_after(1ms, {})); // this is the one
        CHECK_FALSE(look_after(0ms, {}));
    }
    SUBCASE("which is not over a connection that began sooner") {
        s.reconnect();
        s.clock.pass(margin);
        asked(s).to("sync /").ends(outcome::ok).to("children /a").list({});
        CHECK(look_after(0ms, {}));
        CHECK_FALSE(look_after(0ms, {}));
    }
    SUBCASE("if it was there in between, it is deleted, and looked for all the same") {
        CHECK(look_after(1000ms, {s.node(1, 0)}));
        CHECK(s.servers.pending() == s.removal()); // which is lost
        CHECK(look_after(margin, {}));
        CHECK(look_after(margin, {}));
        CHECK_FALSE(look_after(0ms, {}));
    }
}

TEST_CASE("what is refused is tried again after a while")
{
    lost_scene s;
    s.look_again();
    asked(s).to("sync /").ends(outcome::ok);
    SUBCASE("the list")
        asked(s).to("children /a").ends(outcome::no_auth);
    SUBCASE("the delete")
        asked(s).to("children /a").list({s.node(1, 0)}).to("remove /a/" + scene::node(1, 0)).ends(outcome::no_auth);
    asked(s).nothing_else();
    s.clock.pass(1s);
    CHECK(s.servers.pending() == "children /a"); // the server has caught up
    asked(s).to("children /a").list({s.node(1, 0)});
    CHECK(s.servers.pending() == s.removal());
}

TEST_CASE("several that are refused on one path are tried again together, not each for itself")
{
    lost_scene s(2);
    s.look_again();
    asked(s).to("sync /").ends(outcome::ok);
    for (int tries = 0; tries < 2; ++tries) {
        asked(s).to("children /a").list({s.node(1, 0), s.node(2, 1)});
        asked(s).all_of({s.removal(), "remove /a/" + s.node(2, 1)});
        asked(s).to("remove /a/" + scene::node(1, 0)).ends(outcome::no_auth);
        asked(s).to("remove /a/" + scene::node(2, 1)).ends(outcome::no_auth);
        s.clock.pass(1s);
        CHECK(s.servers.pending() == "children /a");
    }
}

TEST_CASE("they end with their session")
{
    lost_scene s;
    s.lose_connection();
    s.expire();
    s.connect(6);
    asked(s).nothing_else();
}

TEST_CASE("a contender that was made again waits for the first node, which is deleted")
{
    connected_scene s;
    const auto a = s.acquire("/a");
    const auto reconnect = [&s] { s.reconnect(); };
    reconnect();
    asked(s).to("sync /").ends(outcome::ok).to("children /a").list({});
    CHECK(s.servers.requests.front().what == "create /a/" + prefix(2));
    reconnect();
    CHECK(s.servers.pending() == "sync /, children /a, children /a");
    asked(s).to("sync /").ends(outcome::ok).to("children /a").list({s.node(1, 0)});
    asked(s).all_of({"children /a", "remove /a/" + s.node(1, 0)});
    CHECK(a->handle->withdraw());
}

TEST_CASE("a user's own node with a contender's name is waited for, and left alone")
{
    connected_scene s;
    const auto a = s.acquire("/a");
    asked(s).to("create /a/" + prefix(1)).number(200, 1);
    const auto stat = two_children(200);
    asked(s).to("watch /a").show(stat).to("children /a").list({"job-lock-0000000000", s.node(1, 1)}, stat);
    asked(s).all_of({"watch /a/" + s.node(1, 1), "watch /a/job-lock-0000000000"});
    for (const std::string& node : {s.node(1, 1), std::string("job-lock-0000000000")})
        asked(s).to("watch /a/" + node).show(5, "both are of this session");
    asked(s).nothing_else();
    CHECK_FALSE(a->ended);
}

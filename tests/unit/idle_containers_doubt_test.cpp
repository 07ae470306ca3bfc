// Idle containers when answers are lost, or an acquire gives up in between.
#include "container_scene.hpp"

using namespace zklock::unit;

namespace {

/// An acquire was withdrawn, and the connection lost, while the container /up was made for it; the next one is there.
struct lost_container_scene : container_scene {
    lost_container_scene()
    {
        const auto a = acquire("/up/p");
        asked(*this).to("create /up/p/" + prefix(1)).ends(outcome::no_node).to("watch /up/p").ends(outcome::no_node);
        asked(*this).to("container /up/p").ends(outcome::no_node);
        REQUIRE(servers.pending() == "container /up");
        CHECK(a->handle->withdraw());
        reconnect();
    }
    void first_look(outcome found)
    {
        CHECK(servers.pending() == "sync /, exists /up");
        asked(*this).to("sync /").ends(outcome::ok);
        if (found == outcome::ok)
            asked(*this).to("exists /up").stat(fresh(60));
        else
            asked(*this).to("exists /up").ends(found);
    }
    /// Then it is looked at once more, to be deleted.
    void rest()
    {
        come_to_rest();
        come_to_rest();
        REQUIRE(servers.pending() == "exists /up");
        answer_syncs();
    }
};

} // namespace

TEST_CASE("a lost answer to the delete: it is looked for once more in the next epoch")
{
    container_scene s;
    s.use("/p");
    s.begin_to_delete("/p");
    s.reconnect();
    s.come_to_rest();
    s.come_to_rest();
    asked(s).only("exists /p").ends(outcome::no_node).nothing_else();
}

TEST_CASE("lost answers to the looks: all are looked for once more in the next epoch")
{
    container_scene s;
    s.use("/p");
    s.use("/q");
    s.come_to_rest();
    asked(s).all_of({"exists /p", "exists /q"});
    s.reconnect();
    s.come_to_rest();
    s.come_to_rest();
    asked(s).all_of({"exists /p", "exists /q"});
}

TEST_CASE("one whose answer was lost: what is found first counts as made by the client if nobody has used it")
{
    lost_container_scene s;
    s.first_look(outcome::ok);
    s.rest();
    store::node_stat found = s.fresh(60);
    SUBCASE("") {
        asked(s).to("exists /up").stat(found);
        CHECK(s.servers.pending() == "remove /up at version 0");
    }
    SUBCASE("others have put another in its place meanwhile") {
        asked(s).to("exists /up").stat(s.fresh(61)).nothing_else();
    }
    SUBCASE("used: if it is a container, the servers clear it away") {
        asked(s).to("exists /up").stat(s.used(60)).nothing_else();
    }
    SUBCASE("with data") {
        found.data_length = 1;
        asked(s).to("exists /up").stat(found).nothing_else();
    }
}

TEST_CASE("nothing is found where one may have been made: what comes to be there later is made by others")
{
    lost_container_scene s;
    s.first_look(outcome::no_node);
    s.rest();
    asked(s).to("exists /up").stat(s.fresh(60)).nothing_else();
}

TEST_CASE("the answer to the first look for one that may have been made is lost, too: it comes once more")
{
    lost_container_scene s;
    s.reconnect();
    s.first_look(outcome::ok);
    s.rest();
    asked(s).to("exists /up").stat(s.fresh(60));
    CHECK(s.servers.pending() == "remove /up at version 0");
}

TEST_CASE("the first look for one that may have been made is refused: it is left to the servers")
{
    lost_container_scene s;
    s.first_look(outcome::no_auth);
    s.rest();
    asked(s).to("exists /up").stat(s.fresh(60)).nothing_else();
}

TEST_CASE("one that was made for an acquire that gave up before its node could be created is deleted")
{
    container_scene s;
    const auto a = s.acquire("/p");
    asked(s).to("create /p/" + prefix(1)).ends(outcome::no_node).to("watch /p").ends(outcome::no_node);
    const auto b = s.acquire("/q"), c = s.acquire("/r");
    asked(s).to("container /p").ends(outcome::ok); // two writes are under way
    REQUIRE_FALSE(s.servers.asks("create /p"));
    s.withdraw(*a);
    s.come_to_rest();
    s.come_to_rest();
    CHECK(s.servers.asks("exists /p"));
}

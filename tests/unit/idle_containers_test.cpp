// Containers that a client has made, and deletes when nobody uses them any more.
#include "container_scene.hpp"

using namespace zklock::unit;

TEST_CASE("a container that the client has made is deleted when its path has rested, and made again when used again")
{
    container_scene s;
    s.use("/p");
    s.begin_to_delete("/p");
    s.done("/p");
    asked(s).nothing_else();
    s.use("/p");
    s.begin_to_delete("/p");
}

TEST_CASE("it is looked at first, behind a sync; what cannot be known to be as it was left stays for now")
{
    container_scene s;
    s.use("/p");
    s.clock.pass(4s);
    s.answer_syncs();
    while (!s.servers.asks("exists"))
        s.clock.pass(100ms);
    const std::string all = s.servers.pending();
    CHECK(all.substr(all.size() - 17) == "sync /, exists /p");
    while (s.servers.requests.size() > 1)
        asked(s).to("sync /").ends(outcome::server_error);
    asked(s).to("exists /p").stat(s.used()).nothing_else();
    s.come_to_rest();
    s.come_to_rest();
    CHECK(s.servers.pending() == "exists /p"); // it rests once more
}

TEST_CASE("a path is being made, and nobody wants it any more: a lock with other options has it, and deletes it")
{
    container_scene s;
    const auto first = s.acquire("/p");
    asked(s).to("create /p/" + prefix(1)).ends(outcome::no_node).to("watch /p").ends(outcome::no_node);
    s.withdraw(*first);
    const auto next = s.acquire("/p", with(&mutex_options::cohort, 2U));
    REQUIRE_FALSE(next->ended);
    asked(s).to("container /p").stat(s.fresh(50));
    asked(s).to("create /p/" + prefix(2)).number(101, 0).to("watch /p").alone(2, 101);
    REQUIRE(next->ended == error_code());
    s.give_back(*next);
    s.begin_to_delete("/p");
    s.done("/p");
    asked(s).nothing_else();
}

TEST_CASE("others' containers, and persistent parents, are left alone")
{
    container_scene s;
    SUBCASE("made by others at the same time")
        s.use("/p", 0);
    SUBCASE("persistent") {
        s.use("/p", 50, with(&mutex_options::parents, parent_kind::persistent));
    }
    s.come_to_rest();
    CHECK(s.servers.pending() == "unwatch /p");
}

TEST_CASE("what others have put in its place, or written into, stays, and is not looked at again")
{
    container_scene s;
    s.use("/p");
    s.come_to_rest();
    store::node_stat found = s.used();
    SUBCASE("another node")
        found = s.fresh(60);
    SUBCASE("with data")
        found.mzxid = 60, found.version = 1, found.data_length = 4;
    SUBCASE("with other data")
        found.mzxid = 60;
    SUBCASE("with a child")
        found.num_children = 1, found.cversion = 3;
    s.answer_syncs();
    asked(s).to("exists /p").stat(found).only("unwatch /p").ends(outcome::ok);
    s.come_to_rest();
    asked(s).nothing_else();
}

TEST_CASE("one that is gone already")
{
    container_scene s;
    s.use("/p");
    s.come_to_rest();
    asked(s).to("exists /p").ends(outcome::no_node).nothing_else();
    s.use("/p");
}

TEST_CASE("one that others use at the last moment stays, and is not asked for again")
{
    container_scene s;
    s.use("/p");
    s.begin_to_delete("/p");
    SUBCASE("")
        asked(s).to("remove /p at version 0").ends(outcome::not_empty);
    SUBCASE("or write into")
        asked(s).to("remove /p at version 0").ends(outcome::bad_version);
    asked(s).only("unwatch /p").ends(outcome::ok);
    s.come_to_rest();
    asked(s).nothing_else();
}

TEST_CASE("made by others once, and then by the client: the last counts")
{
    container_scene s;
    s.use("/p", 50);
    s.event(store::event_kind::deleted, "/p");
    s.use("/p", 0);
    s.event(store::event_kind::deleted, "/p");
    s.use("/p", 70);
    s.come_to_rest();
    s.answer_syncs();
    asked(s).to("exists /p").stat(s.used(70));
    CHECK(s.servers.pending() == "remove /p at version 0");
}

TEST_CASE("a path in use keeps it")
{
    container_scene s;
    s.use("/p");
    for (int n = 1; n <= 3; ++n) {
        s.clock.pass(4s);
        s.answer_syncs();
        const auto a = s.acquire("/p");
        asked(s).only("create /p/" + prefix(2 + n)).number(200 + n, n);
        CHECK(a->ended == error_code());
        s.give_back(*a);
    }
}

TEST_CASE("used while it is being looked at: it is not deleted")
{
    container_scene s;
    s.use("/p");
    s.come_to_rest();
    REQUIRE(s.servers.pending() == "exists /p");
    const auto a = s.acquire("/p");
    s.answer_syncs();
    asked(s).to("exists /p").stat(s.used()).only("create /p/" + prefix(3)).number(300, 1);
    CHECK(a->ended == error_code());
    s.give_back(*a);
    s.come_to_rest();
    s.come_to_rest();
    CHECK(s.servers.pending() == "exists /p");
}

TEST_CASE("many are deleted together; where one of them is not empty, fewer")
{
    container_scene s;
    for (const char* path : {"/a", "/b", "/c", "/d"})
        s.use(path);
    s.come_to_rest();
    asked(s).all_of({"exists /a", "exists /b", "exists /c", "exists /d"});
    s.answer_syncs();
    asked(s).to("exists /a").stat(s.used());
    s.answer_syncs();
    asked(s).to("exists /b").stat(s.used());
    store::node_stat occupied = s.used();
    occupied.num_children = 1;
    s.answer_syncs();
    asked(s).to("exists /c").stat(occupied);
    s.answer_syncs();
    asked(s).to("exists /d").stat(s.used());
    const std::string together = "batch remove /a at version 0, remove /b at version 0, remove /d at version 0";
    asked(s).all_of({"unwatch /c", together});
    asked(s).to("unwatch /c").ends(outcome::ok);
    asked(s).to(together).fails_at(1, outcome::not_empty);
    asked(s).all_of({"unwatch /b", "sync /", "exists /a", "exists /d"}).to("unwatch /b").ends(outcome::ok);
    s.answer_syncs();
    asked(s).to("exists /a").stat(s.used());
    s.answer_syncs();
    asked(s).to("exists /d").stat(s.used());
    CHECK(s.servers.pending() == "batch remove /a at version 0, remove /d at version 0");
    asked(s).to("batch remove /a at version 0, remove /d at version 0").ends(outcome::ok).nothing_else();
}

TEST_CASE("more than 4,096 paths rest: whichever has rested longest is looked at and deleted at once")
{
    container_scene s;
    const auto path = [](int i) { return "/p" + std::to_string(i); };
    for (int i = 0; i < 4096; ++i)
        s.use(path(i)); // no time passes
    for (int i = 0; i < 2; ++i) {
        s.use_the_last(path(4096 + i));
        asked(s).all_of({"sync /", "exists " + path(i)});
        s.answer_syncs();
        asked(s).only("exists " + path(i)).stat(s.used());
        REQUIRE(s.servers.pending() == "remove " + path(i) + " at version 0");
        s.done(path(i));
        asked(s).nothing_else();
    }
    s.use_the_last(path(0)); // made again
    asked(s).all_of({"sync /", "exists " + path(2)});
}

TEST_CASE("one at a time is under way, and a refused transaction is divided")
{
    container_scene s;
    for (int i = 0; i < 70; ++i)
        s.use("/p" + std::to_string(i));
    s.come_to_rest();
    const auto look_at = [&](std::size_t many) {
        s.answer_syncs();
        REQUIRE(s.servers.requests.size() == many);
        for (std::size_t i = 0; i < many; ++i) { // of whichever path
            s.servers.take().stat(s.used());
            s.clock.run();
        }
    };
    look_at(64);
    REQUIRE(s.servers.requests.size() == 1);
    CHECK(s.servers.requests.front().writes.size() == 64);
    asked(s).to_batch_of(64).fails_at(5, outcome::not_empty).to("unwatch /p5").ends(outcome::ok); // its watch
    look_at(16);
    CHECK(s.servers.requests.front().writes.size() == 16);
    asked(s).to_batch_of(16).ends(outcome::bad_arguments); // not the fault of one of them
    look_at(1);
    CHECK(s.servers.pending().starts_with("remove /p"));
}

TEST_CASE("used while the delete is on its way: the path is made again")
{
    container_scene s;
    s.use("/p");
    s.begin_to_delete("/p");
    const auto a = s.acquire("/p");
    asked(s).all_of({"remove /p at version 0", "create /p/" + prefix(3)});
    SUBCASE("and it was deleted") {
        s.done("/p");
        asked(s).to("create /p/" + prefix(3)).ends(outcome::no_node);
        asked(s).all_of({"watch /p", "watch /p", "container /p"}); // after the event, and after the answer
        asked(s).to("watch /p").ends(outcome::no_node);
        asked(s).to("watch /p").ends(outcome::no_node);
        asked(s).to("container /p").ends(outcome::ok);
        asked(s).to("create /p/" + prefix(4)).number(300, 0).to("watch /p").alone(1, 300);
    }
    SUBCASE("and it was not, for others were there")
        asked(s).to("remove /p at version 0").ends(outcome::not_empty).to("create /p/" + prefix(3)).number(300, 1);
    CHECK(a->ended == error_code());
    s.give_back(*a).nothing_else();
}

TEST_CASE("used with other options while it rests, is looked at, or deleted: they hold from then on")
{
    container_scene s;
    s.use("/p");
    const auto others = with(&mutex_options::cohort, 2);
    const auto is_granted = [&](const scene::attempt& a) {
        REQUIRE_FALSE(a.ended);
        while (!s.servers.requests.empty() && !s.servers.requests.front().what.starts_with("create"))
            asked(s).to("unwatch /p").ends(outcome::ok);
        asked(s).to("create /p/" + prefix(3)).number(300, 0);
        while (!a.ended && s.servers.asks("watch /p"))
            asked(s).to("watch /p").alone(1, 300);
        CHECK(a.ended == error_code());
    };
    SUBCASE("it rests") {
        s.clock.pass(1s);
        is_granted(*s.acquire("/p", others));
    }
    SUBCASE("looked at") {
        s.come_to_rest();
        REQUIRE(s.servers.pending() == "exists /p");
        const auto a = s.acquire("/p", others);
        s.answer_syncs();
        asked(s).to("exists /p").stat(s.used());
        CHECK_FALSE(s.servers.asks("remove"));
        is_granted(*a);
    }
    SUBCASE("deleted") {
        s.begin_to_delete("/p");
        const auto a = s.acquire("/p", others);
        asked(s).all_of({"remove /p at version 0", "create /p/" + prefix(3), "watch /p"});
        s.done("/p");
        asked(s).to("create /p/" + prefix(3)).ends(outcome::no_node);
        while (s.servers.requests.front().what == "watch /p")
            asked(s).to("watch /p").ends(outcome::no_node);
        REQUIRE(s.servers.pending() == "container /p");
        s.answer_syncs();
        asked(s).to("container /p").stat(s.fresh(80));
        asked(s).to("create /p/" + prefix(4)).number(300, 0).to("watch /p").alone(1, 300);
        CHECK(a->ended == error_code());
        s.release(*a);
        asked(s).to("remove /p/" + scene::node(4, 0)).ends(outcome::ok);
        s.come_to_rest();
        s.answer_syncs();
        asked(s).to("exists /p").stat(s.used(80));
        CHECK(s.servers.pending() == "remove /p at version 0");
    }
    SUBCASE("its watch is taken back") {
        s.come_to_rest();
        s.answer_syncs();
        asked(s).to("exists /p").stat(s.fresh(60)); // another's
        REQUIRE(s.servers.pending() == "unwatch /p");
        is_granted(*s.acquire("/p", others));
    }
}

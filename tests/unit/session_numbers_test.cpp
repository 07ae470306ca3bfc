// A path whose numbers are scarce, over a store that the test answers for.
#include "session_scene.hpp"

using namespace zklock::unit;

namespace {

/// Numbers are scarce after the first. `held` was granted with it and is released, `waiting` is held back.
struct scarce_scene : connected_scene {
    std::shared_ptr<attempt> held;
    std::shared_ptr<attempt> waiting;

    scarce_scene()
    {
        session->set_numbers_scarce_from(1);
        held = hold("/p", 0);
        waiting = acquire("/p");
        asked(*this).nothing_else();
        give_back(*held);
        CHECK(servers.pending() == "get /p");
    }

    void look(int children, std::int32_t version = 0, const std::string& data = {}, int ever = 1)
    {
        store::node_stat stat;
        stat.num_children = children;
        stat.cversion = 2 * ever - children;
        stat.version = version;
        asked(*this).to("get /p").show_node(stat, data);
    }
    /// It has a child when it is to be deleted, a contender's by its name, which is that session's node.
    void find_child_of(std::int64_t owner)
    {
        look(1, 0, {}, 2);
        store::node_stat stat;
        stat.num_children = 1;
        stat.cversion = 3;
        asked(*this).to("remove /p at version 0").ends(outcome::not_empty);
        asked(*this).to("children /p").list({node(9, 1)}, stat);
        asked(*this).to("watch /p/" + node(9, 1)).show(owner, "");
    }
};

/// The path's numbers have come to their end with the only node. It is deleted, and so is the path.
void delete_full_path(connected_scene& s, mutex_options o = {})
{
    const auto a = s.acquire("/p", std::move(o));
    asked(s).to("create /p/" + prefix(1)).number(42, queue::sequence_limit);
    CHECK(a->ended == errc::sequence_exhausted);
    store::node_stat stat;
    stat.cversion = static_cast<std::int32_t>(2u * (static_cast<std::uint32_t>(queue::sequence_limit) + 1));
    asked(s).to("watch /p"); // is never answered
    asked(s).to("remove /p/" + scene::node(1, queue::sequence_limit)).ends(outcome::ok);
    asked(s).to("get /p").show(stat);
    asked(s).to("remove /p at version 0").ends(outcome::ok);
}

} // namespace

TEST_CASE("the empty parent is deleted and made again; numbers begin at 0, tokens go on")
{
    scarce_scene s;
    s.look(0);
    asked(s).only("remove /p at version 0").ends(outcome::ok);
    asked(s).all_of({"create /p/" + prefix(2), "watch /p"});
    asked(s).to("create /p/" + prefix(2)).ends(outcome::no_node).to("watch /p").ends(outcome::no_node);
    asked(s).only("container /p").ends(outcome::ok);
    asked(s).to("create /p/" + prefix(3)).number(150, 0).to("watch /p").alone(1, 150);
    REQUIRE(s.waiting->ended == error_code());
    CHECK(s.waiting->given.fencing_token > s.held->given.fencing_token);
}

TEST_CASE("it has children, or was changed, when it was to be deleted: looked at again")
{
    for (const outcome why : {outcome::not_empty, outcome::bad_version}) {
        scarce_scene s;
        s.look(0);
        asked(s).to("remove /p at version 0").ends(why);
        CHECK(s.servers.pending() == "children /p");
    }
}

TEST_CASE("a parent that has data, or may not be read or deleted, stays, and creates go on")
{
    scarce_scene s;
    SUBCASE("data")
        s.look(1, 3, "somebody's");
    SUBCASE("not to be read")
        asked(s).to("get /p").ends(outcome::no_auth);
    SUBCASE("not to be deleted") {
        s.look(0, 3);
        asked(s).only("remove /p at version 3").ends(outcome::no_auth);
    }
    CHECK(s.servers.pending().starts_with("create /p/"));
}

TEST_CASE("it is gone already")
{
    scarce_scene s;
    SUBCASE("at the look")
        asked(s).to("get /p").ends(outcome::no_node);
    SUBCASE("at the delete") {
        s.look(0);
        asked(s).to("remove /p at version 0").ends(outcome::no_node);
    }
    SUBCASE("and another one is there")
        s.look(0, 0, {}, 0);
    CHECK(s.servers.pending().starts_with("create /p/"));
}

TEST_CASE("held back: a deadline and a cancel end it at once, and leave nothing")
{
    scarce_scene s;
    s.find_child_of(7);
    s.withdraw(*s.waiting);
    asked(s).only("unwatch /p/" + scene::node(9, 1)).ends(outcome::ok).nothing_else();
}

TEST_CASE("past the limit: refused, and the parent deleted for those who come")
{
    connected_scene s;
    delete_full_path(s);
    const auto b = s.acquire("/p");
    CHECK(s.servers.pending().starts_with("create /p/"));
}

TEST_CASE("past the limit: a path that is to be persistent is made again at once, for others may rely on it")
{
    connected_scene s;
    mutex_options persistent;
    persistent.parents = parent_kind::persistent;
    SUBCASE("with the client's access list") {
    }
    SUBCASE("with that of the acquire that came last")
        persistent.access = access_list{{"world", "anyone"}, digest_entry("ann", "x", permission::read)};
    delete_full_path(s, persistent);
    asked(s)
        .to("persistent /p")
        .has_access(persistent.access ? to_string(*persistent.access) : "")
        .ends(outcome::ok)
        .nothing_else();
}

TEST_CASE("a persistent node that is called like a contender's does not hold anybody back for ever")
{
    scarce_scene s;
    s.find_child_of(0);
    CHECK(s.servers.asks("create /p/"));
}

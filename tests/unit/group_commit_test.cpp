// group_commit, by what the store is asked for: how the creates and deletes of all paths of a client travel together.
#include "session_scene.hpp"

using namespace zklock::unit;

namespace {

/// Two creates are under way, those of /a and /b: what comes now gathers. The parents of both are being looked at.
struct busy_scene : scene {
    busy_scene()
    {
        start();
        connect();
        a = acquire("/a");
        create_a = asked(*this).to("create /a/" + prefix(1)).kept(); // at once
        asked(*this).to("watch /a").show({}).nothing_else();
        b = acquire("/b");
        create_b = asked(*this).to("create /b/" + prefix(2)).kept();
        asked(*this).to("watch /b").show({}).nothing_else();
    }
    void answer_a()
    {
        create_a.number(100, 0);
        clock.run();
    }

    std::shared_ptr<attempt> a, b;
    fake_store::request create_a, create_b;
};

/// Behind the first two, two creates of /c and one of /d have gathered, and gone together.
struct batch_scene : busy_scene {
    batch_scene()
    {
        c1 = acquire("/c");
        c2 = acquire("/c");
        d = acquire("/d");
        asked(*this).nothing_else();
        answer_a();
        const std::string from_path_to_path =
            "create /c/" + prefix(3) + ", create /d/" + prefix(4) + ", create /c/" + prefix(5);
        batch = asked(*this).to("batch " + from_path_to_path).kept();
        asked(*this).to("watch /c").show({}).to("watch /d").show({}).nothing_else(); // no child yet, by then
    }
    void done()
    {
        batch.done({"/c/" + node(3, 0), "/d/" + node(4, 0), "/c/" + node(5, 1)});
        clock.run();
    }

    std::shared_ptr<attempt> c1, c2, d;
    fake_store::request batch;
};

/// Has a node deleted, unless it is `gone`.
struct remover final : recipes::write_source {
    explicit remover(std::string its_node) : node(std::move(its_node)) {}

    bool prepare(recipes::node_write& w) override
    {
        w.node = node + (w.id == 0 ? "" : std::to_string(w.id));
        return !gone;
    }
    void create_goes_again(std::uint64_t) override {}
    void on_created(std::uint64_t, const store::create_reply&) override {}
    void on_removed(std::uint64_t, outcome) override { ++removed; }
    void expect_czxid() override {}
    void on_czxid(const recipes::node_write&, std::int64_t) override {}
    void writes_sent() override {}
    void writes_answered() override {}

    const std::string node;
    bool gone = false;
    int removed = 0;
};

} // namespace

TEST_CASE("nodes made together have their tokens from one look, by their places")
{
    batch_scene s;
    s.done();
    CHECK_FALSE(s.c1->ended);
    asked(s).to("exists /c/" + scene::node(5, 1)).czxid(200).nothing_else();
    CHECK(s.c1->ended == error_code());
    CHECK(s.c1->given.fencing_token == 200 * 4096);
    CHECK(s.d->ended == error_code());
    CHECK(s.d->given.fencing_token == 200 * 4096);
    CHECK_FALSE(s.c2->ended);
    s.release(*s.c1);
    CHECK(s.c2->ended == error_code());
    CHECK(s.c2->given.fencing_token == 200 * 4096 + 1);
}

TEST_CASE("where that look fails, each node is inspected")
{
    batch_scene s;
    s.done();
    const std::string c1 = "/c/" + scene::node(3, 0), d = "/d/" + scene::node(4, 0), c2 = "/c/" + scene::node(5, 1);
    store::node_stat ours;
    ours.ephemeral_owner = 5;
    ours.czxid = 300;
    asked(s).to("exists " + c2).ends(outcome::no_node);
    asked(s).to("watch " + c1).show(ours).to("watch " + d).show(ours);
    asked(s).to("watch " + c2).ends(outcome::no_node); // it is gone, and is made again
    CHECK(s.c1->given.fencing_token == 300 * 4096);
    CHECK(s.d->given.fencing_token == 300 * 4096);
    CHECK_FALSE(s.c2->ended);
    asked(s).to("create /c/" + prefix(6)).nothing_else();
}

TEST_CASE("where the transaction has no token to give, the nodes are deleted at once")
{
    batch_scene s;
    s.done();
    s.create_b.number(101, 0);
    s.clock.run();
    asked(s).to("exists /c/" + scene::node(5, 1)).czxid(std::int64_t{1} << 51);
    CHECK(s.c1->ended == errc::token_exhausted);
    CHECK(s.c2->ended == errc::token_exhausted);
    CHECK(s.d->ended == errc::token_exhausted);
    for (const std::string& n : {"/c/" + scene::node(3, 0), "/d/" + scene::node(4, 0), "/c/" + scene::node(5, 1)})
        CHECK(s.servers.asks("remove " + n));
}

TEST_CASE("a look at nodes made together tells nothing of one that was made again meanwhile")
{
    busy_scene s;
    const auto c = s.acquire("/c");
    const auto d = s.acquire("/d");
    s.answer_a();
    const auto watch_c = asked(s).to("watch /c").kept();
    asked(s).to("watch /d"); // is never answered
    asked(s)
        .to("batch create /c/" + prefix(3) + ", create /d/" + prefix(4))
        .done({"/c/" + scene::node(3, 0), "/d/" + scene::node(4, 0)});
    const auto look = asked(s).to("exists /d/" + scene::node(4, 0)).nothing_else().kept();
    store::node_stat empty; // others have deleted the node of /c
    empty.cversion = 2;
    watch_c.show_stat(empty);
    const auto e = s.acquire("/e");
    asked(s).to("watch /e"); // is never answered
    const auto second = asked(s).to("batch create /c/" + prefix(5) + ", create /e/" + prefix(6)).nothing_else().kept();
    store::node_stat stat;
    stat.czxid = 200;
    look.stat(stat);
    second.done({"/c/" + scene::node(5, 1), "/e/" + scene::node(6, 0)});
    s.clock.run();
    CHECK_FALSE(c->ended);
    asked(s).to("exists /e/" + scene::node(6, 0)).czxid(300);
    CHECK(c->given.fencing_token == 300 * 4096);
}

TEST_CASE("a lost answer leaves all of them unknown")
{
    batch_scene s;
    s.create_b.answer(outcome::unknown);
    s.batch.answer(outcome::unknown);
    s.clock.run();
    asked(s).nothing_else();
    s.reconnect();
    CHECK(s.servers.requests.front().what == "sync /"); // before what is to be seen after it
    asked(s).to("sync /").to("children /b").to("children /c").to("children /d").nothing_else();
}

TEST_CASE("when one is refused it has its answer, and the others go alone")
{
    batch_scene s;
    SUBCASE("its path is missing: other creates there are not tried before it is made") {
        s.batch.fail(0, outcome::no_node);
        s.clock.run();
        const auto create_d = asked(s).to("create /d/" + prefix(4)).kept();
        asked(s).to("container /c").nothing_else().ends(outcome::ok);
        create_d.number(210, 0);
        s.clock.run();
        CHECK(s.d->given.fencing_token == 210 * 4096);
        CHECK_FALSE(s.c1->ended);
    }
    SUBCASE("it is forbidden") {
        s.batch.fail(1, outcome::no_auth);
        s.clock.run();
        CHECK(s.d->ended == errc::access_denied);
        asked(s).to("create /c/" + prefix(3)).number(210, 0).to("create /c/" + prefix(5)).number(211, 1);
        CHECK(s.c1->given.fencing_token == 210 * 4096);
        s.release(*s.c1);
        CHECK(s.c2->given.fencing_token == 211 * 4096); // a transaction of its own
    }
    SUBCASE("nobody may create anything on its path: nor is the next one there tried") {
        outcome why{};
        SUBCASE("")
            why = outcome::no_auth;
        SUBCASE("")
            why = outcome::invalid_acl;
        SUBCASE("")
            why = outcome::no_child_allowed;
        s.batch.fail(0, why);
        s.clock.run();
        CHECK(s.c1->ended);
        CHECK(s.c2->ended == s.c1->ended);
        asked(s).to("create /d/" + prefix(4)).nothing_else();
    }
    SUBCASE("it is not known which: all go alone") {
        s.batch.answer(outcome::bad_arguments);
        s.clock.run();
        asked(s).all_of({"create /c/" + prefix(3), "create /d/" + prefix(4), "create /c/" + prefix(5)});
    }
}

TEST_CASE("a delete that others may wait for does not wait, and takes along what has gathered")
{
    connected_scene s;
    const auto held = s.hold("/h", 0);
    const auto a = s.acquire("/a");
    const auto b = s.acquire("/b");
    const auto c = s.acquire("/c");
    s.servers.requests.clear();
    s.release(*held);
    asked(s).to("watch /c"); // is never answered
    auto both = asked(s).to("batch remove /h/" + scene::node(1, 0) + ", create /c/" + prefix(4));
    both.nothing_else();

    SUBCASE("others have deleted the node: that is told, and the create goes alone") {
        both.fails_at(0, outcome::no_node);
        CHECK(held->released == errc::lost);
        asked(s).to("create /c/" + prefix(4)).nothing_else();
    }
    SUBCASE("done") {
        both.done({"/c/" + scene::node(4, 0)});
        CHECK(held->released == error_code());
    }
}

TEST_CASE("a delete behind which one of ours is next gathers like a create")
{
    connected_scene s;
    const auto first = s.hold("/h", 0);
    const auto second = s.enqueue("/h", 1);
    const auto a = s.acquire("/a");
    const auto b = s.acquire("/b");
    s.servers.requests.clear();
    s.release(*first);
    CHECK(second->ended == error_code());
    asked(s).nothing_else();
    s.release(*second); // the last of ours
    asked(s).to("batch remove /h/" + scene::node(2, 1) + ", remove /h/" + scene::node(1, 0)).nothing_else();
}

TEST_CASE("no more than 64 go together")
{
    busy_scene s;
    for (int i = 0; i < 100; ++i)
        s.acquire("/many/" + std::to_string(i));
    asked(s).nothing_else();
    s.answer_a();
    asked(s).to_batch_of(64);
    CHECK(s.servers.requests.size() == 64); // a watch of each path
    s.create_b.number(101, 0);
    s.clock.run();
    asked(s).to_batch_of(36);
}

TEST_CASE("no more go together than servers can read at once")
{
    busy_scene s;
    mutex_options long_winded;
    long_winded.identifier.assign(60 * 1024, 'x');
    for (int i = 0; i < 7; ++i)
        s.acquire("/many/" + std::to_string(i), long_winded);
    s.answer_a();
    asked(s).to_batch_of(5); // with the fifth they are more than 256 KiB
    s.create_b.number(101, 0);
    s.clock.run();
    asked(s).to_batch_of(2);
}

TEST_CASE("what has gathered when the connection ends is made on the next one")
{
    busy_scene s;
    const auto c = s.acquire("/c");
    const auto d = s.acquire("/d");
    s.create_a.answer(outcome::unknown);
    s.create_b.answer(outcome::unknown);
    s.clock.run();
    asked(s).nothing_else(); // nothing is sent in an epoch that is about to end
    s.reconnect();
    asked(s).to("create /c/" + prefix(3)).number(102, 0).to("create /d/" + prefix(4)).number(103, 0);
    CHECK(c->given.fencing_token == 102 * 4096);
    CHECK(d->given.fencing_token == 103 * 4096);
}

TEST_CASE("whoever is cancelled before its create was sent costs nothing")
{
    busy_scene s;
    const auto c = s.acquire("/c");
    s.withdraw(*c);
    s.answer_a();
    asked(s).nothing_else();
}

TEST_CASE("a container that was made for nobody in the end is deleted; what was there before stays")
{
    connected_scene s;
    const auto a = s.acquire("/deep/down/a");
    asked(s).to("create /deep/down/a/" + prefix(1)).ends(outcome::no_node);
    asked(s).to("watch /deep/down/a").ends(outcome::no_node);
    asked(s).to("container /deep/down/a").ends(outcome::no_node);
    asked(s).to("container /deep/down").ends(outcome::no_node);
    asked(s).to("container /deep").ends(outcome::node_exists); // somebody else has made it
    auto below = asked(s).to("container /deep/down");
    SUBCASE("withdrawn") {
        CHECK(a->handle->withdraw());
        below.stat(s.fresh(10));
        asked(s).to("container /deep/down/a").stat(s.fresh(11));
        s.come_to_rest();
        asked(s).to("exists /deep/down/a").stat(s.fresh(11));
        asked(s).to("remove /deep/down/a at version 0").ends(outcome::ok);
        asked(s).to("sync /").ends(outcome::ok); // before the answer to what was asked with it
        asked(s).to("exists /deep/down").stat(s.fresh(10));
        asked(s).to("remove /deep/down at version 0").ends(outcome::not_empty).nothing_else();
    }
    SUBCASE("still wanted") {
        below.ends(outcome::ok);
        asked(s).to("container /deep/down/a").ends(outcome::ok);
        asked(s).to("create /deep/down/a/" + prefix(2)).to("watch /deep/down/a").nothing_else();
    }
}

TEST_CASE("for a create that nobody wants any more its path is not made")
{
    connected_scene s;
    const auto a = s.acquire("/deep/a");
    s.withdraw(*a);
    asked(s).to("create /deep/a/" + prefix(1)).ends(outcome::no_node);
    asked(s).to("watch /deep/a").ends(outcome::no_node).nothing_else();
}

TEST_CASE("one write of each source at a time, but for urgent deletes; what is not needed any more is left out")
{
    connected_scene s;
    remover a("/a"), b("/b");
    auto& writes = s.session->writes();
    writes.remove(a, 1, false);
    writes.remove(a, 2, false);
    writes.remove(b, 3, false);
    SUBCASE("all are needed") {
        writes.proceed();
        asked(s).to("batch remove /a1, remove /b3, remove /a2").nothing_else();
    }
    SUBCASE("one is urgent: the source's others go along") {
        writes.remove(a, 4, true);
        writes.proceed();
        asked(s).to("batch remove /a4, remove /a1, remove /a2, remove /b3").nothing_else();
    }
    SUBCASE("those of one are not") {
        a.gone = true;
        writes.proceed();
        asked(s).to("remove /b3").nothing_else();
    }
    SUBCASE("one has taken them back") {
        std::string unsent;
        writes.remove(a, 4, true);
        writes.take_back(a, [&](std::uint64_t id) { unsent += std::to_string(id) + ' '; });
        CHECK(unsent == "1 2 4 ");
        writes.proceed();
        asked(s).to("remove /b3").nothing_else();
    }
    s.servers.requests.clear();
    writes.forget(a);
    writes.forget(b);
}

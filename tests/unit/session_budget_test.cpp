// How many nodes of a client the budget lets be there at once.
#include "session_scene.hpp"

using namespace zklock::unit;

namespace {

/// A session that can have so many nodes of paths like /p at once; the first ones of further paths up to a limit.
struct budget_scene : scene {
    explicit budget_scene(std::size_t nodes) : budget_scene(nodes, nodes) {}
    budget_scene(std::size_t nodes, std::size_t limit)
    {
        const std::size_t one = 4 + std::string("/p/").size() + node(1, 0).size();
        options.node_budget = nodes * one;
        options.node_budget_limit = limit * one;
        start();
        connect();
    }
};

} // namespace

TEST_CASE("further waiters get their nodes as others free theirs, each path in turn")
{
    budget_scene s(2, 4);
    const auto p1 = s.hold("/p", 0);
    const auto p2 = s.acquire("/p");
    s.servers.requests.clear();
    const auto p3 = s.acquire("/p");
    asked(s).nothing_else();
    const auto q1 = s.hold("/q", 0); // the first of its path
    const auto q2 = s.acquire("/q");
    asked(s).nothing_else();
    const auto r1 = s.hold("/r", 0);
    CHECK(s.acquire("/t")->ended == errc::over_budget);

    s.give_back(*r1);
    CHECK(s.servers.pending() == ""); // still above
    s.release(*q1);                   // q has no other node, and need not wait
    CHECK(s.servers.pending().starts_with("batch remove /q/" + scene::node(3, 0) + ", create /q/"));
    CHECK_FALSE(p3->ended);
}

TEST_CASE("nobody waits behind a path whose waiters have given up")
{
    scene s;
    const std::string wide = "/" + std::string(100, 'w');
    const auto cost = [](const std::string& path) { return 4 + path.size() + 1 + scene::node(1, 0).size(); };
    s.options.node_budget = cost(wide) + 2 * cost("/p");
    s.start();
    s.connect();
    const auto w1 = s.hold(wide, 0);
    const auto p1 = s.hold("/p", 0);
    const auto w2 = s.acquire(wide);
    const auto early = s.acquire("/p");
    CHECK(s.servers.pending() == ""); // there is room for this one, but the other came first
    s.withdraw(*w2);
    CHECK(s.servers.pending() == "create /p/" + prefix(3));
    CHECK(early->handle->withdraw());
}

TEST_CASE("who has no node yet can go without the network")
{
    connected_scene s(with(&client_options::node_budget, 1));
    const auto first = s.hold("/p", 0);
    const auto second = s.acquire("/p");
    CHECK(second->handle->withdraw());
    CHECK_FALSE(second->handle->withdraw());
    asked(s).nothing_else();
    s.release(*first);
    CHECK(s.servers.pending() == "remove /p/" + scene::node(1, 0));
}

TEST_CASE("creates that gather take no more than the node budget")
{
    budget_scene s(4);
    const auto a = s.acquire("/a");
    const auto b = s.acquire("/b");
    auto create_a = asked(s).to("create /a/" + prefix(1)).kept();
    s.servers.requests.clear();
    const auto c1 = s.acquire("/c");
    const auto c2 = s.acquire("/c");
    const auto c3 = s.acquire("/c");
    create_a.number(100, 0);
    s.clock.run();
    CHECK(s.servers.pending() == "batch create /c/" + prefix(3) + ", create /c/" + prefix(4) + ", watch /c");
}

TEST_CASE("a node that is passed on takes its room in the node budget along, once")
{
    budget_scene s(4);
    const auto lingering = with(&mutex_options::linger, 1s);
    const auto first = s.hold("/h", 0, lingering);
    const auto second = s.enqueue("/h", 1, lingering);
    const auto a = s.acquire("/a");
    const auto b = s.acquire("/b");
    const auto create_a = asked(s).to("create /a/" + prefix(3)).kept();
    s.servers.requests.clear();
    s.event(store::event_kind::deleted, "/h/" + scene::node(2, 1));
    CHECK(s.servers.pending() == ""); // it is to be made again when the others' creates are answered
    s.release(*first);
    REQUIRE(second->ended == error_code());
    CHECK(second->given.node == first->given.node);
    s.release(*second);
    asked(s).only("watch children /h").list({scene::node(1, 0)});
    s.clock.pass(1s);
    asked(s).only("remove " + first->given.node).ends(outcome::ok);
    const auto c1 = s.acquire("/c");
    const auto c2 = s.acquire("/c");
    create_a.number(102, 0);
    s.clock.run();
    const std::string both = "batch create /c/" + prefix(5) + ", create /c/" + prefix(6);
    asked(s).all_of({both, "watch /c"});
}

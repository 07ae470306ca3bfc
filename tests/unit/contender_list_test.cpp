// Lists of contenders: what they tell, and how they share the line of users' requests.
#include "line_scene.hpp"

#include "recipes/requests/children_in_order.hpp"

using namespace zklock::unit;

// --- session, contenders ---------------------------------------------------------------------------------------------

TEST_CASE("are listed in the queue's order, with what their nodes say")
{
    scene s;
    s.start();
    std::optional<std::vector<contender>> found;
    recipes::list_contenders(*s.session, "/p", [&](error_code ec, std::vector<contender> all) {
        CHECK_FALSE(ec);
        found = std::move(all);
    });
    s.clock.run();
    CHECK(s.servers.pending() == ""); // waits for a connection
    s.connect();
    asked(s).to("children /p").list({"lock-0000000009", "config", "ab__lock__0000000002", "lock-0000000005"});
    asked(s).all_of({"get /p/ab__lock__0000000002", "get /p/lock-0000000005", "get /p/lock-0000000009"});
    asked(s).to("get /p/ab__lock__0000000002").kept().show(6, "two");
    asked(s).to("get /p/lock-0000000005").ends(outcome::no_node);
    asked(s).to("get /p/lock-0000000009").show(5, "nine\nkey=value");
    REQUIRE(found);
    REQUIRE(found->size() == 2);
    CHECK((*found)[0].sequence == 2);
    CHECK((*found)[0].identifier == "two");
    CHECK_FALSE((*found)[0].ours);
    CHECK((*found)[1].identifier == "nine");
    CHECK((*found)[1].ours);
    CHECK((*found)[1].node == "/p/lock-0000000009");
}

TEST_CASE("are read again after a cut, unless nobody wants them any more")
{
    connected_scene s;
    int ended = 0;
    const auto kept =
        recipes::list_contenders(*s.session, "/p", [&](error_code, const std::vector<contender>&) { ++ended; });
    const auto dropped =
        recipes::list_contenders(*s.session, "/q", [&](error_code, const std::vector<contender>&) { ++ended; });
    asked(s).to("children /p").ends(outcome::unknown).to("children /q").ends(outcome::unknown);
    s.servers.observer->on_disconnected();
    CHECK(dropped->withdraw() == recipes::user_request::withdrawal::withdrawn);
    CHECK(dropped->withdraw() == recipes::user_request::withdrawal::ended);
    s.connect(5, false);
    CHECK(s.servers.pending() == "sync /, children /p");
    asked(s).to("sync /").ends(outcome::ok).to("children /p").ends(outcome::no_node);
    CHECK(ended == 1);
    CHECK(kept->withdraw() == recipes::user_request::withdrawal::ended);
}

// --- a client's line, lists ------------------------------------------------------------------------------------------

TEST_CASE("a long list and single requests have every second place, lists one after the other")
{
    connected<line_scene> s;
    line_scene::listing a, b;
    s.contenders(a, "/a");
    s.contenders(b, "/b");
    asked(s).all_of({"children /a", "children /b"});
    asked(s).to("children /a").list(line_scene::crowd(500));
    CHECK(s.servers.requests.size() == window - places_of_a_list + 1);
    asked(s).to("children /b").list(line_scene::crowd(500));
    CHECK(s.servers.requests.size() == window);
    CHECK(s.servers.requests.front().what == "get /a/lock-0000000000"); // in the order of the queue
    line_scene::many reads;
    s.get(reads, 2 * window);
    // Half of the places for each of the two.
    for (std::size_t i = 0; i < window; ++i)
        s.show();
    CHECK(s.under_way("get /n") == window / 2);
    CHECK(s.under_way("get /a/") + s.under_way("get /b/") == window / 2);
    CHECK(s.under_way("get /b/") >= window / 4);
    // Who asks now waits for those before it, and for as many requests of lists.
    std::size_t answered = window;
    for (; reads.ended != 2 * window; ++answered)
        s.show();
    CHECK(answered <= 6 * window);
    CHECK_FALSE(a.ended);
    while (!s.servers.requests.empty())
        s.show();
    for (const line_scene::listing* list : {&a, &b}) {
        CHECK(list->ended == error_code());
        REQUIRE(list->found.size() == 500);
        for (std::size_t i = 0; i < 500; ++i)
            REQUIRE(list->found[i].sequence == static_cast<std::int32_t>(i));
    }
}

TEST_CASE("a list that one node refuses reads no further")
{
    connected<line_scene> s;
    line_scene::listing list;
    s.contenders(list, "/p");
    asked(s).to("children /p").list(line_scene::crowd(200)).to("get /p/lock-0000000000").ends(outcome::no_auth);
    CHECK(list.ended == errc::access_denied);
    CHECK(s.servers.requests.size() == window - 1);
    while (!s.servers.requests.empty())
        s.show();
    line_scene::many reads;
    s.get(reads, 2 * window);
    CHECK(s.servers.requests.size() == window);
}

TEST_CASE("on a new connection a list begins again, and all are in the order of the calls")
{
    connected<line_scene> s;
    line_scene::listing list, late;
    s.contenders(list, "/p");
    asked(s).to("children /p").list(line_scene::crowd(100));
    line_scene::many reads;
    s.get(reads, 30);
    s.contenders(late, "/q"); // has not come up
    for (std::size_t i = 0; i < 20; ++i)
        s.show();
    CHECK(s.under_way("get /n") == 10);
    s.lose_answers();
    CHECK_FALSE(list.ended);
    s.reconnect();
    const std::string pending = s.servers.pending();
    CHECK(pending.starts_with("sync /, children /p, get /n0000000000, get /n0000000001"));
    CHECK(pending.ends_with("get /n0000000029, children /q"));
    CHECK(s.servers.requests.size() == 33);
    asked(s).to("sync /").ends(outcome::ok).to("children /p").list(line_scene::crowd(3));
    while (reads.ended != 30)
        s.show();
    asked(s).to("children /q").list({});
    CHECK(late.ended == error_code());
    for (int i = 0; i < 3; ++i)
        s.show();
    CHECK(list.ended == error_code());
    CHECK(list.found.size() == 3);
    asked(s).nothing_else();

    // One of which nothing is under way yet when the connection ends.
    line_scene::listing first, second;
    s.contenders(first, "/p");
    asked(s).to("children /p").list(line_scene::crowd(2 * window));
    CHECK(s.under_way("get /p/") == window);
    s.contenders(second, "/q");
    while (s.under_way("children /q") == 0)
        s.show();
    asked(s).to("children /q").list(line_scene::crowd(2 * window));
    CHECK(s.under_way("get /p/") == window);
    CHECK(s.under_way("get /q/") == 0);
    s.lose_answers();
    s.reconnect();
    CHECK(s.servers.pending() == "sync /, children /p, children /q");
}

TEST_CASE("whoever wants the first only reads one, and the next if that one is gone")
{
    connected<line_scene> s;
    line_scene::listing first;
    s.contenders(first, "/p", 1);
    asked(s).to("children /p").list(line_scene::crowd(1'000)).only("get /p/lock-0000000000").ends(outcome::no_node);
    CHECK(s.servers.pending() == "get /p/lock-0000000001");
    s.show();
    asked(s).nothing_else();
    CHECK(first.ended == error_code());
    REQUIRE(first.found.size() == 1);
    CHECK(first.found.front().sequence == 1);
    for (const bool empty : {true, false}) { // nobody, or nobody any more
        line_scene::listing nobody;
        s.contenders(nobody, "/p", 1);
        asked(s).to("children /p").list(line_scene::crowd(empty ? 0 : 1));
        if (!empty)
            asked(s).to("get /p/lock-0000000000").ends(outcome::no_node);
        CHECK(nobody.ended == error_code());
        CHECK(nobody.found.empty());
    }
}

TEST_CASE("holders are asked to let go a few at a time; with a new connection, all of them, each once")
{
    connected<line_scene> s;
    std::vector<std::string> readers;
    for (std::size_t i = 0; i < 3 * window; ++i)
        readers.push_back(numbered("a-__READ__", i));
    readers.push_back(numbered("a-__WRIT__", 3 * window));
    std::optional<std::size_t> told;
    recipes::revoke_holders(*s.session, "/p", [&](error_code ec, std::size_t n) { told = ec ? 0 : n; });
    asked(s).to("children /p").list(readers);
    CHECK(s.servers.requests.size() == window);
    for (std::size_t i = 0; i < 10; ++i)
        asked(s).to("set /p/" + readers[i]).ends(outcome::ok);
    s.lose_answers();
    s.reconnect();
    CHECK(s.servers.requests.size() == window); // no sync: nothing is read
    for (std::size_t i = 0; i < 3 * window - 1; ++i)
        asked(s).to("set /p/" + readers[i]).ends(outcome::ok);
    CHECK_FALSE(told);
    asked(s).to("set /p/a-__READ__0000000191").ends(outcome::ok);
    CHECK(told == 3 * window);
    asked(s).nothing_else();

    // A writer that reads on is asked by its reader's node, once, whatever the connection does.
    const std::string uuid = "_c_00000000-0000-4000-8000-999999999999-";
    told.reset();
    recipes::revoke(*s.session, "/p", "/p/" + uuid + "__WRIT__0000000003",
                    [&](error_code ec, std::size_t n) { told = ec ? 0 : n; });
    asked(s).to("set /p/" + uuid + "__WRIT__0000000003").ends(outcome::no_node);
    asked(s).only("set /p/" + uuid + "__READ__0000000003").ends(outcome::unknown);
    s.reconnect();
    asked(s).only("set /p/" + uuid + "__READ__0000000003").ends(outcome::ok);
    CHECK(told == 1);
}

// --- children in order -----------------------------------------------------------------------------------------------

TEST_CASE("come by their numbers and then by their names, those that are meant")
{
    const auto& usual = recipes::list_kind::queue;
    recipes::children_in_order children;
    CHECK(children.empty());
    children.assign({"b-lock-0000000007", "notes", "lock-0000000003", "a-lock-0000000007", "x", "lock--000000005",
                     "c-__READ__0000000001"},
                    usual);
    CHECK(children.size() == 4);
    std::vector<std::string> names;
    for (; !children.empty(); children.pop())
        names.emplace_back(children.front().name);
    CHECK(names == std::vector<std::string>{"c-__READ__0000000001", "lock-0000000003", "a-lock-0000000007",
                                            "b-lock-0000000007"});
    children.assign({"lock-0000000001", "0000000000"}, usual);
    CHECK(children.size() == 1);
    children.assign({"lock-0000000001", "0000000000"}, recipes::list_kind::queue_named(queue::name_rules({}, {""})));
    CHECK(children.size() == 2);
    CHECK(children.front().name == "0000000000");
    children.pop();
    CHECK(children.size() == 1);
    children.clear();
    CHECK(children.empty());
}

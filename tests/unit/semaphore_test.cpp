#include "session_scene.hpp"

#include "recipes/semaphore/semaphore_layout.hpp"
#include "recipes/semaphore/semaphores.hpp"

#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::unit;

namespace {

/// A session with semaphores.
struct semaphore_scene : scene {
    struct attempt {
        std::shared_ptr<recipes::semaphore_acquisition> handle;
        std::optional<error_code> ended;
        recipes::grant given;
        int losses = 0;
    };

    std::optional<recipes::semaphores> semaphores;

    semaphore_scene()
    {
        start();
        semaphores.emplace(*locks);
        connect();
    }
    std::shared_ptr<attempt> want(std::size_t count, semaphore_options o,
                                  recipes::patience mode = recipes::patience::queue, std::string path = "/s")
    {
        const auto a = std::make_shared<attempt>();
        recipes::permits_request request;
        request.path = std::move(path);
        request.options = std::move(o);
        request.count = count;
        request.mode = mode;
        request.done = [a](error_code ec, const recipes::grant& g) {
            CHECK_FALSE(a->ended);
            a->ended = ec;
            a->given = g;
        };
        request.lost = [a] { ++a->losses; };
        a->handle = semaphores->acquire(std::move(request));
        CHECK_FALSE(a->ended);
        clock.run();
        return a;
    }
    /// Gives the lock of the line to whoever has just asked for it. No requests are left but those at its head.
    void give_line()
    {
        number(50, 0);
        alone(1, 50);
    }
    static std::string lease(int uuid, int n)
    {
        char text[80];
        std::snprintf(text, sizeof text, "_c_00000000-0000-4000-8000-%012d-lease-%010d", uuid, n);
        return text;
    }
    static std::string check(int uuid, int n) { return "check /s/leases/" + lease(uuid, n); }
    /// The leases 2, 3 and 4, with the numbers 7, 8 and 9. Nothing is pending.
    std::shared_ptr<attempt> hold_three();
    /// All that is under way is lost, and the session goes on.
    void reconnect()
    {
        while (!servers.requests.empty())
            answer(outcome::unknown);
        servers.observer->on_disconnected();
        clock.run();
        connect(5, false);
    }
    /// Answers everything until a request that begins so, which is left. False if there was none.
    bool answer_until(const std::string& what)
    {
        while (!servers.requests.empty() && !servers.requests.front().what.starts_with(what)) {
            const auto r = servers.take();
            store::node_stat stat;
            stat.ephemeral_owner = 5;
            if (r.show_stat)
                r.show_stat(stat);
            else
                r.answer(outcome::ok);
            clock.run();
        }
        return !servers.requests.empty();
    }
    void event(store::event_kind kind, const std::string& path)
    {
        servers.observer->on_node_event(kind, path);
        clock.run();
    }
};

semaphore_options permits_of(unsigned n)
{
    semaphore_options o;
    o.permits = n;
    return o;
}

auto semaphore_scene::hold_three() -> std::shared_ptr<attempt>
{
    const auto a = want(3, permits_of(3));
    give_line();
    servers.take().done({"/s/leases/" + lease(2, 7), "/s/leases/" + lease(3, 8), "/s/leases/" + lease(4, 9)});
    clock.run();
    list({lease(2, 7), lease(3, 8), lease(4, 9)});
    REQUIRE(a->ended == error_code());
    answer(outcome::ok); // the lock of the line goes
    CHECK(servers.pending() == "");
    return a;
}

} // namespace

TEST_SUITE("semaphore")
{
    TEST_CASE("at the head of the line: the lease and the list together, then the lock goes back")
    {
        semaphore_scene s;
        const auto a = s.want(1, permits_of(2));
        CHECK(s.servers.pending() == "create /s/locks/_c_00000000-0000-4000-8000-000000000001-lock-, watch /s/locks");
        s.give_line();
        CHECK(s.servers.pending() ==
              "create /s/leases/_c_00000000-0000-4000-8000-000000000002-lease-, children /s/leases");
        s.number(60, 7);
        CHECK_FALSE(a->ended);
        s.list({"foreign", s.lease(2, 7)});
        CHECK(a->ended == error_code());
        CHECK(a->given.node == "/s/leases/" + s.lease(2, 7));
        CHECK(a->given.fencing_token == 50 * 4096);
        CHECK(a->handle->count() == 1);
        CHECK(a->handle->held(s.clock.now()));
        CHECK(s.servers.pending() == "remove /s/locks/" + s.node(1, 0));
        s.answer(outcome::ok);
        a->handle->release({});
        s.clock.run();
        CHECK_FALSE(a->handle->held(s.clock.now()));
        CHECK(s.servers.pending() == "remove /s/leases/" + s.lease(2, 7));
        s.answer(outcome::ok);
        CHECK(s.servers.pending() == "");
    }

    TEST_CASE("several leases are one transaction; without room it watches, and looks again at an event")
    {
        semaphore_scene s;
        const auto a = s.want(2, permits_of(3));
        s.give_line();
        CHECK(s.servers.pending() == "batch create /s/leases/_c_00000000-0000-4000-8000-000000000002-lease-, "
                                     "create /s/leases/_c_00000000-0000-4000-8000-000000000003-lease-, "
                                     "children /s/leases");
        s.servers.take().done({"/s/leases/" + s.lease(2, 8), "/s/leases/" + s.lease(3, 9)});
        s.clock.run();
        s.list({"x", "y", s.lease(2, 8), s.lease(3, 9)});
        CHECK(s.servers.pending() == "watch children /s/leases");
        s.list({"x", "y", s.lease(2, 8), s.lease(3, 9)});
        CHECK(s.servers.pending() == "");
        s.event(store::event_kind::children_changed, "/s/leases");
        CHECK(s.servers.pending() == "watch children /s/leases");
        s.list({"x", s.lease(2, 8), s.lease(3, 9)});
        CHECK(a->ended == error_code());
        CHECK(a->handle->count() == 2);
        CHECK(s.servers.pending() == "remove /s/locks/" + s.node(1, 0) + ", unwatch /s/leases");
    }

    TEST_CASE("not granted on a list that lacks one of its leases: it begins anew")
    {
        semaphore_scene s;
        const auto a = s.want(1, permits_of(1));
        s.give_line();
        s.number(60, 7);
        s.list({});
        CHECK_FALSE(a->ended);
        CHECK(s.servers.pending() == "remove /s/locks/" + s.node(1, 0) +
                                         ", create /s/locks/_c_00000000-0000-4000-8000-000000000003-lock-");
    }

    TEST_CASE("withdrawn while its lease is made: the lease is deleted when it is known")
    {
        semaphore_scene s;
        const auto a = s.want(1, permits_of(1));
        s.give_line();
        CHECK(a->handle->withdraw());
        CHECK_FALSE(a->handle->withdraw());
        s.number(60, 7);
        CHECK(s.servers.pending() == "children /s/leases, remove /s/locks/" + s.node(1, 0) + ", remove /s/leases/" +
                                         s.lease(2, 7));
        CHECK_FALSE(a->ended);
    }

    TEST_CASE("a create of unknown outcome is looked for after a sync, and kept, made again or deleted")
    {
        for (const bool wanted : {true, false})
            for (const bool there : {true, false}) {
                semaphore_scene s;
                const auto a = s.want(1, permits_of(1));
                s.give_line();
                if (!wanted)
                    CHECK(a->handle->withdraw());
                while (!s.servers.requests.empty())
                    s.answer(outcome::unknown);
                s.servers.observer->on_disconnected();
                s.clock.run();
                s.connect(5, false);
                std::vector<std::string> seen;
                std::string line;
                bool synced = false;
                for (int i = 0; i < 20 && !s.servers.requests.empty(); ++i) {
                    const auto r = s.servers.take();
                    seen.push_back(r.what);
                    if (r.what == "sync /") {
                        synced = true;
                        r.answer(outcome::ok);
                    } else if (r.what == "children /s/leases" && seen.size() < 4 && line.empty()) {
                        CHECK(synced);
                        line = "looked";
                        r.list(there ? std::vector<std::string>{s.lease(2, 7)} : std::vector<std::string>{});
                        break;
                    } else if (r.what.starts_with("watch /s/locks")) {
                        store::node_stat stat;
                        stat.ephemeral_owner = 5;
                        stat.czxid = 50;
                        stat.num_children = 1;
                        stat.cversion = 1;
                        r.show_stat(stat);
                    } else {
                        r.answer(outcome::ok);
                    }
                    s.clock.run();
                }
                s.clock.run();
                CAPTURE(wanted);
                CAPTURE(there);
                CAPTURE(s.servers.pending());
                CHECK(line == "looked");
                const std::string rest = s.servers.pending();
                const bool makes = rest.find("create /s/leases") != std::string::npos;
                const bool removes = rest.find("remove /s/leases/" + s.lease(2, 7)) != std::string::npos;
                CHECK(makes == (wanted && !there));
                CHECK(removes == (!wanted && there));
            }
    }

    TEST_CASE("what a look-up did not find is looked for again, until a write has shown that the server is up to date")
    {
        for (const bool wrote : {false, true}) {
            CAPTURE(wrote);
            semaphore_scene s;
            const auto a = s.want(1, permits_of(2));
            s.give_line();
            s.reconnect(); // the create of lease 2 is lost, and has been done
            REQUIRE(s.answer_until("children /s/leases"));
            s.list({}); // by a leader that does not know what happened since
            REQUIRE(s.answer_until("create /s/leases/_c_00000000-0000-4000-8000-000000000003-lease-"));
            if (wrote) {
                s.number(61, 8);
                REQUIRE(s.answer_until("children /s/leases"));
            }
            s.reconnect();
            CHECK(!!(s.servers.pending().find("sync /") == std::string::npos) == wrote);
            if (!wrote) {
                REQUIRE(s.answer_until("children /s/leases"));
                s.list({s.lease(2, 7)});
                CHECK(s.servers.pending().find("remove /s/leases/" + s.lease(2, 7)) != std::string::npos);
                REQUIRE(s.answer_until("children /s/leases")); // for lease 3
                s.list({});
                CHECK(s.servers.pending().find("create /s/leases/_c_00000000-0000-4000-8000-000000000004") !=
                      std::string::npos);
            }
            CHECK_FALSE(a->ended);
        }
    }

    TEST_CASE("a lease that a look-up may have missed does not keep its path, and is looked for nevertheless")
    {
        semaphore_scene s;
        const auto gave_up = s.want(1, permits_of(2));
        s.give_line();
        CHECK(gave_up->handle->withdraw());
        s.reconnect(); // the create of lease 2 is lost, and has been done
        REQUIRE(s.answer_until("children /s/leases"));
        s.list({}); // by a leader that does not know what happened since
        const auto other = s.want(1, permits_of(3));
        CHECK_FALSE(other->ended); // or it would have been refused: the path was bound to 2
        s.reconnect();
        REQUIRE(s.answer_until("children /s/leases"));
        s.list({s.lease(2, 7)});
        CHECK(s.servers.pending().find("remove /s/leases/" + s.lease(2, 7)) != std::string::npos);
    }

    TEST_CASE("a try reads, and writes nothing when there is no room")
    {
        semaphore_scene s;
        const auto a = s.want(2, permits_of(2), recipes::patience::look_once);
        CHECK(s.servers.pending() == "children /s/leases");
        s.list({"x"});
        CHECK(a->ended == make_error_code(errc::busy));
        CHECK(s.servers.pending() == "");
        const auto b = s.want(1, permits_of(2), recipes::patience::look_once);
        s.list({"x"});
        CHECK(s.servers.pending() == "children /s/locks");
        s.list({});
        CHECK(s.servers.pending() == "create /s/locks/_c_00000000-0000-4000-8000-000000000001-lock-, watch /s/locks");
        s.give_line();
        s.number(60, 7);
        s.list({"x", "y", s.lease(2, 7)}); // somebody who does not stand in line
        CHECK(b->ended == make_error_code(errc::busy));
        CHECK(s.servers.pending() == "remove /s/leases/" + s.lease(2, 7) + ", remove /s/locks/" + s.node(1, 0));
    }

    TEST_CASE("a try that ends with the connection has nothing sent any more for those behind it in the line")
    {
        semaphore_scene s;
        const auto tries = s.want(1, permits_of(1), recipes::patience::look_once);
        s.list({});
        s.list({});
        const auto waits = s.want(1, permits_of(1));
        s.clock.skip(15s); // the lease is over: nobody is granted
        s.number(50, 0);
        s.alone(1, 50);
        s.number(52, 2); // somebody is between them, of whom it knows nothing yet
        while (!s.servers.requests.empty() && s.servers.requests.front().what == "sync /")
            s.answer(outcome::ok);
        REQUIRE(s.servers.pending() == "");
        CHECK_FALSE(tries->ended);
        s.servers.observer->on_disconnected();
        s.clock.run();
        CHECK(tries->ended == make_error_code(errc::not_connected));
        CHECK_FALSE(waits->ended);
        CHECK(s.servers.pending() == "");
    }

    TEST_CASE("lost with the session; what was split off is held by itself")
    {
        semaphore_scene s;
        const auto a = s.want(3, permits_of(3));
        s.give_line();
        s.servers.take().done(
            {"/s/leases/" + s.lease(2, 7), "/s/leases/" + s.lease(3, 8), "/s/leases/" + s.lease(4, 9)});
        s.clock.run();
        s.list({s.lease(2, 7), s.lease(3, 8), s.lease(4, 9)});
        REQUIRE(a->ended == error_code());
        int losses = 0;
        CHECK_FALSE(a->handle->split(4, {}));
        CHECK_FALSE(a->handle->split(0, {}));
        const auto part = a->handle->split(2, [&] { ++losses; });
        REQUIRE(part);
        CHECK(part->count() == 2);
        CHECK(part->given().node == "/s/leases/" + s.lease(3, 8));
        CHECK(part->given().fencing_token == a->given.fencing_token);
        s.event(store::event_kind::deleted, "/s/leases/" + s.lease(4, 9));
        CHECK(losses == 1);
        CHECK(a->losses == 0);
        CHECK(a->handle->held(s.clock.now()));
        CHECK_FALSE(part->held(s.clock.now()));
        s.servers.observer->on_disconnected();
        s.servers.observer->on_expired();
        s.clock.run();
        CHECK(a->losses == 1);
        CHECK_FALSE(a->handle->held(s.clock.now()));
        CHECK_FALSE(a->handle->split(1, {}));
    }

    TEST_CASE("a commit looks for the node of each permit that is still there when it is sent")
    {
        semaphore_scene s;
        const auto a = s.hold_three();
        int lost = 0, told = 0;
        error_code ended;
        const auto commit = [&] {
            s.operations->commit(transaction().set("/stock", "1"), {a->handle, a->given},
                                      [&](error_code ec, const commit_result&) {
                                          ++told;
                                          ended = ec;
                                      });
        };
        commit();
        CHECK(s.servers.pending() ==
              "batch " + s.check(2, 7) + ", " + s.check(3, 8) + ", " + s.check(4, 9) + ", set /stock");
        s.servers.take().done({});
        s.clock.run();
        CHECK(told == 1);
        CHECK_FALSE(ended);

        // One of them is split off meanwhile: it is no business of this one's any more.
        s.servers.observer->on_disconnected();
        s.clock.run();
        commit();
        const auto part = a->handle->split(1, [&] { ++lost; });
        REQUIRE(part);
        s.connect(5, false);
        CHECK(s.servers.pending() == "batch " + s.check(2, 7) + ", " + s.check(3, 8) + ", set /stock");
        s.servers.take().fail(1, outcome::no_node); // not the first
        s.clock.run();
        CHECK(told == 2);
        CHECK(ended == make_error_code(errc::lost));
        CHECK(a->losses == 1);
        CHECK_FALSE(a->handle->held(s.clock.now()));
        CHECK(s.servers.pending() == "remove /s/leases/" + s.lease(2, 7));
        CHECK(lost == 0);
        CHECK(part->held(s.clock.now()));
        commit();
        s.clock.run();
        CHECK(told == 3);
        CHECK(ended == make_error_code(errc::lost));
        CHECK(s.servers.pending() == "remove /s/leases/" + s.lease(2, 7)); // it was not sent
    }

    TEST_CASE("the holder of several permits is asked by the node of any; what is split off, by its own")
    {
        semaphore_scene s;
        const auto a = s.hold_three();
        const auto leases = [&s](int first, int last) {
            std::string text;
            for (int i = first; i <= last; ++i)
                text += (i == first ? "watch /s/leases/" : ", watch /s/leases/") + s.lease(i, i + 5);
            return text;
        };
        const auto show = [&s](const std::string& data) {
            s.servers.take().show(5, data);
            s.clock.run();
        };
        int asked = 0, part_asked = 0;
        a->handle->on_revoked([&] { ++asked; });
        s.clock.run();
        CHECK(s.servers.pending() == leases(2, 4));
        for (const char* data : {"me", "", "__REVOKE__\n"})
            show(data);
        CHECK(asked == 0);
        s.event(store::event_kind::data_changed, "/s/leases/" + s.lease(3, 8));
        CHECK(s.servers.pending() == leases(3, 3));
        show("__REVOKE__");
        CHECK(asked == 1);
        CHECK(a->handle->held(s.clock.now()));
        CHECK(a->losses == 0);

        const auto part = a->handle->split(1, {});
        REQUIRE(part);
        part->on_revoked([&] { ++part_asked; });
        s.clock.run();
        CHECK(s.servers.pending() == leases(4, 4));
        show("me");
        // On the next connection all are looked at again.
        s.servers.observer->on_disconnected();
        s.clock.run();
        s.connect(5, false);
        REQUIRE(s.servers.requests.size() == 3);
        for (int i = 0; i < 3; ++i) {
            const auto look = s.servers.take();
            look.show(5, look.what == leases(4, 4) ? "__REVOKE__" : "me");
        }
        s.clock.run();
        CHECK(part_asked == 1);
        CHECK(asked == 1);
        part->release({});
        s.event(store::event_kind::data_changed, "/s/leases/" + s.lease(4, 9));
        CHECK(s.servers.pending() == "remove /s/leases/" + s.lease(4, 9)); // nobody looks at it any more
    }

    TEST_CASE("whoever has been told that the shared count has changed is not granted by the old one")
    {
        semaphore_scene s;
        auto of_the_count = permits_of(2);
        of_the_count.count_path = "/n";
        const auto a = s.want(1, of_the_count);
        s.give_line();
        const auto count = [&](int n) {
            s.servers.take().show_version(0, recipes::count_data(n));
            s.clock.run();
        };
        const auto full_list = [&] { s.list({"x", "y", s.lease(2, 7)}); };
        s.number(60, 7);
        count(2);
        full_list();
        CHECK(s.servers.pending() == "watch /n, watch children /s/leases");
        count(2);
        full_list();
        s.event(store::event_kind::children_changed, "/s/leases");
        CHECK(s.servers.pending() == "watch children /s/leases");
        s.event(store::event_kind::data_changed, "/n"); // before the answer: the server knew of it first
        s.list({"x", s.lease(2, 7)});
        CHECK_FALSE(a->ended);
        REQUIRE(s.servers.pending() == "get /n, children /s/leases");
        count(0);
        s.list({"x", s.lease(2, 7)});
        CHECK_FALSE(a->ended);
        CHECK(s.servers.pending() == "watch /n, watch children /s/leases");
        count(2);
        s.list({"x", s.lease(2, 7)});
        CHECK(a->ended == error_code());
    }

    TEST_CASE("a container for leases that are not wanted any more is deleted")
    {
        semaphore_scene s;
        const auto a = s.want(1, permits_of(2));
        s.give_line();
        s.answer(outcome::no_node);
        CHECK(s.servers.pending() == "children /s/leases, container /s/leases");
        CHECK(a->handle->withdraw());
        s.clock.run();
        s.answer(outcome::no_node);
        s.answer(outcome::ok);
        CHECK_FALSE(s.answer_until("nothing else"));
        s.come_to_rest();
        CHECK(s.answer_until("remove /s/leases"));
    }

    TEST_CASE("whoever wanted to hear of requests to let go is kept no longer than the permits")
    {
        semaphore_scene s;
        const auto a = s.hold_three();
        const auto listener = std::make_shared<int>();
        a->handle->on_revoked([listener] {});
        SUBCASE("released") { a->handle->release({}); }
        SUBCASE("split off, all of them")
        {
            const auto all = a->handle->split(3, {});
            all->release({});
        }
        SUBCASE("lost")
        {
            for (int n = 7; n <= 9; ++n)
                s.event(store::event_kind::deleted, "/s/leases/" + s.lease(n - 5, n));
        }
        s.clock.run();
        CHECK(listener.use_count() == 1);
    }

    TEST_CASE("layouts, and a shared count as bytes")
    {
        const recipes::semaphore_layout curator("/s", naming::curator);
        CHECK(curator.line == "/s/locks");
        CHECK(curator.leases == "/s/leases");
        CHECK(curator.made_from("_c_u-lease-", "_c_u-lease-0000000001"));
        CHECK_FALSE(curator.made_from("_c_u-lease-", "_c_v-lease-0000000001"));
        const recipes::semaphore_layout kazoo("/s", naming::kazoo);
        CHECK(kazoo.line == "/s-__lock__");
        CHECK(kazoo.leases == "/s");
        CHECK(kazoo.lease_name("12-34") == "1234");
        CHECK(kazoo.made_from("1234", "1234"));
        CHECK_FALSE(kazoo.made_from("1234", "12345"));
        CHECK(recipes::lease_sequence("_c_u-lease-0000000012") == 12);
        CHECK(recipes::lease_sequence("_c_u-lease--2147483648") == -2147483647 - 1);
        CHECK(recipes::lease_sequence("1234") == 0);
        CHECK(recipes::count_data(258) == std::string("\0\0\1\2", 4));
        for (const std::int32_t n : {0, 1, 255, 65536, 2147483647, -1})
            CHECK(recipes::count_of(recipes::count_data(n)) == n);
        CHECK_FALSE(recipes::count_of("12345"));
        CHECK_FALSE(recipes::count_of(""));
    }
}

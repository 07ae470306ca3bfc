// What users ask for besides locks: how much of it is under way at once, and who comes next.
#include "node_scene.hpp"

#include "recipes/requests/children_in_order.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using namespace zklock;
using namespace zklock::unit;
using withdrawal = recipes::user_request::withdrawal;

namespace {

constexpr std::size_t window = recipes::request_line::most_under_way;
constexpr std::size_t bytes = recipes::request_line::most_bytes_under_way;

std::string numbered(const char* before, std::size_t n)
{
    char digits[16];
    std::snprintf(digits, sizeof digits, "%010zu", n);
    return before + std::string(digits);
}

struct line_scene : node_scene {
    /// Counts what has ended, and how.
    struct many {
        std::size_t ended = 0;
        std::size_t failed = 0;
        std::vector<std::shared_ptr<recipes::user_request>> handles;
    };

    void get(many& all, std::size_t count)
    {
        for (std::size_t i = 0; i < count; ++i)
            all.handles.push_back(nodes().get(numbered("/n", all.handles.size()), [&all](error_code ec, node_content) {
                ++all.ended;
                all.failed += ec.failed();
            }));
    }
    struct listing {
        std::shared_ptr<recipes::user_request> handle;
        std::optional<error_code> ended;
        std::vector<contender> found;
    };
    /// Reads the queue of a path.
    void contenders(listing& to, const std::string& path, std::size_t most = recipes::contender_list::all)
    {
        to.handle = queues->contenders(
            path,
            [&to](error_code ec, std::vector<contender> found) {
                CHECK_FALSE(to.ended);
                to.ended = ec;
                to.found = std::move(found);
            },
            recipes::listed::queue, most);
    }
    /// Of so many contenders, the last one first.
    static std::vector<std::string> crowd(std::size_t count)
    {
        std::vector<std::string> names;
        for (std::size_t i = count; i != 0; --i)
            names.push_back(numbered("lock-", i - 1));
        return names;
    }
    /// The oldest request is a read, and is answered.
    void show()
    {
        servers.take().show(5, "somebody");
        clock.run();
    }
    [[nodiscard]] std::size_t under_way(const std::string& of) const
    {
        return static_cast<std::size_t>(
            std::count_if(servers.requests.begin(), servers.requests.end(),
                          [&of](const fake_store::request& r) { return r.what.starts_with(of); }));
    }
    void reconnect()
    {
        disconnect();
        servers.observer->on_connected({5, 10s, false, clock.now()});
    }
};

} // namespace

TEST_SUITE("a client's line")
{
    TEST_CASE("so many requests of users are under way at most, and the others follow in the order of the calls")
    {
        line_scene s;
        s.connect();
        line_scene::many reads;
        s.get(reads, 3 * window);
        CHECK(s.servers.requests.size() == window);
        for (std::size_t i = 0; i < 3 * window; ++i) {
            REQUIRE(s.servers.requests.front().what == numbered("get /n", i));
            s.show();
            CHECK(s.servers.requests.size() == std::min(window, 3 * window - i - 1));
        }
        CHECK(reads.ended == 3 * window);
        CHECK(reads.failed == 0);
        // Also of those that waited for a connection.
        line_scene late;
        line_scene::many waiting;
        late.get(waiting, 2 * window);
        late.connect();
        CHECK(late.servers.requests.size() == window);
    }

    TEST_CASE("what locks need does not wait for it")
    {
        line_scene s;
        s.connect();
        const auto a = s.hold("/p", 3);
        line_scene::many reads;
        s.get(reads, 10 * window);
        CHECK(s.servers.requests.size() == window);
        s.release(*a);
        CHECK(s.servers.requests.back().what == "remove /p/" + scene::node(1, 3));
        const auto b = s.acquire("/q");
        CHECK(s.under_way("create /q/") == 1);
        CHECK(s.under_way("sync /") == 0);
        s.clock.pass(5s);
        CHECK(s.under_way("sync /") == 1); // the heartbeat
        CHECK(s.under_way("get ") == window);
        // Those who have it do not have it again: a read for each that is answered, and nothing before it is.
        s.servers.requests.front().answer(outcome::ok);
        CHECK(s.servers.requests.back().what == numbered("get /n", window));
    }

    TEST_CASE("the data of writes under way are bounded, but for those of one, and the order is kept")
    {
        line_scene s;
        s.connect();
        std::size_t ended = 0;
        const auto write = [&](const char* path, std::size_t size) {
            return s.nodes().set(path, std::string(size, 'x'), any_version, [&](error_code, node_stat) { ++ended; });
        };
        write("/a", bytes / 2);
        write("/b", bytes / 2);
        write("/c", 1);
        write("/d", 3 * bytes);
        write("/e", 0);
        s.nodes().get("/f", [&](error_code, node_content) { ++ended; });
        CHECK(s.servers.pending() == "set /a, set /b");
        s.answer(outcome::ok);
        CHECK(s.servers.pending() == "set /b, set /c");
        s.answer(outcome::ok);
        CHECK(s.servers.pending() == "set /c"); // the long one is sent alone
        s.answer(outcome::ok);
        CHECK(s.servers.pending() == "set /d, set /e, get /f");
        write("/g", 1);
        CHECK(s.servers.pending() == "set /d, set /e, get /f");
        s.answer(outcome::ok);
        CHECK(s.servers.pending() == "set /e, get /f, set /g");
        for (int i = 0; i < 3; ++i)
            s.answer(outcome::ok);
        CHECK(ended == 7);
        // A transaction counts as a whole.
        const std::string half(bytes / 2, 'x');
        s.nodes().commit(transaction().set("/a", half).create("/b", half), [&](error_code, commit_result) { ++ended; });
        write("/c", 1);
        CHECK(s.servers.pending() == "batch set /a, create /b");
        s.answer(outcome::no_node);
        CHECK(s.servers.pending() == "set /c");
        // What waits for a long one goes on when that one is given up.
        write("/d", bytes);
        const auto long_one = write("/e", bytes);
        write("/f", 1);
        CHECK(s.servers.pending() == "set /c");
        CHECK(long_one->withdraw() == withdrawal::withdrawn);
        s.answer(outcome::ok);
        CHECK(s.servers.pending() == "set /d");
        s.answer(outcome::ok);
        CHECK(s.servers.pending() == "set /f");
    }

    TEST_CASE("a long list and single requests have every second turn, lists one after the other")
    {
        line_scene s;
        s.connect();
        line_scene::listing a, b;
        s.contenders(a, "/a");
        s.contenders(b, "/b");
        CHECK(s.servers.pending() == "children /a, children /b");
        s.list(line_scene::crowd(500));
        CHECK(s.servers.requests.size() == window);
        s.list(line_scene::crowd(500));
        CHECK(s.servers.requests.size() == window);
        CHECK(s.servers.requests.front().what == "get /a/lock-0000000000"); // in the order of the queue
        line_scene::many reads;
        s.get(reads, 2 * window);
        // As many of each as there are turns.
        for (std::size_t i = 0; i < window; ++i)
            s.show();
        CHECK(s.under_way("get /n") == window / 2);
        CHECK(s.under_way("get /a/") + s.under_way("get /b/") == window / 2);
        CHECK(s.under_way("get /b/") >= window / 4);
        // Who asks now waits for those before it, and for as many turns of lists.
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

    TEST_CASE("what is withdrawn is sent no more, and has others come up")
    {
        line_scene s;
        s.connect();
        line_scene::many reads;
        s.get(reads, 2 * window);
        line_scene::listing list;
        s.contenders(list, "/p");
        for (std::size_t i = 0; i < window + 7; ++i)
            CHECK(reads.handles[i]->withdraw() == withdrawal::withdrawn);
        CHECK(s.servers.requests.size() == window); // those that are on their way
        s.show();
        CHECK(s.servers.requests.back().what == numbered("get /n", window + 7));
        for (std::size_t i = 1; i < window; ++i)
            s.show();
        CHECK(reads.ended == 0);
        CHECK(s.servers.requests.size() == window - 7 + 1);
        CHECK(s.servers.requests.back().what == "children /p");
        for (std::size_t i = 7; i < window; ++i)
            s.show();
        s.list(line_scene::crowd(1'000));
        CHECK(s.servers.requests.size() == window);
        for (std::size_t i = 0; i < 10; ++i)
            s.show();
        CHECK(list.handle->withdraw() == withdrawal::withdrawn);
        CHECK(list.handle->withdraw() == withdrawal::ended);
        for (std::size_t i = 0; i < window; ++i)
            s.show();
        CHECK(s.servers.pending() == "");
        CHECK_FALSE(list.ended);
        CHECK(reads.ended == window - 7);
        // All places are free again.
        s.get(reads, 2 * window);
        CHECK(s.servers.requests.size() == window);
    }

    TEST_CASE("a list that one node refuses reads no further")
    {
        line_scene s;
        s.connect();
        line_scene::listing list;
        s.contenders(list, "/p");
        s.list(line_scene::crowd(200));
        s.answer(outcome::no_auth);
        CHECK(list.ended == make_error_code(errc::access_denied));
        CHECK(s.servers.requests.size() == window - 1);
        while (!s.servers.requests.empty())
            s.show();
        line_scene::many reads;
        s.get(reads, 2 * window);
        CHECK(s.servers.requests.size() == window);
    }

    TEST_CASE("on a new connection a list begins again, and all are in the order of the calls")
    {
        line_scene s;
        s.connect();
        line_scene::listing list, late;
        s.contenders(list, "/p");
        s.list(line_scene::crowd(100));
        line_scene::many reads;
        s.get(reads, 30);
        s.contenders(late, "/q"); // has not come up
        for (std::size_t i = 0; i < 20; ++i)
            s.show();
        CHECK(s.under_way("get /n") == 10);
        while (!s.servers.requests.empty())
            s.answer(outcome::unknown);
        CHECK_FALSE(list.ended);
        s.reconnect();
        const std::string pending = s.servers.pending();
        CHECK(pending.starts_with("sync /, children /p, get /n0000000000, get /n0000000001"));
        CHECK(pending.ends_with("get /n0000000029, children /q"));
        CHECK(s.servers.requests.size() == 33);
        s.answer(outcome::ok);
        s.list(line_scene::crowd(3));
        while (reads.ended != 30)
            s.show();
        s.list({});
        CHECK(late.ended == error_code());
        for (int i = 0; i < 3; ++i)
            s.show();
        CHECK(list.ended == error_code());
        CHECK(list.found.size() == 3);
        CHECK(s.servers.pending() == "");

        // One whose turn is still to come when the connection ends, and of which nothing is under way.
        line_scene::listing first, second;
        s.contenders(first, "/p");
        s.contenders(second, "/q");
        s.list(line_scene::crowd(2 * window));
        s.list(line_scene::crowd(2 * window));
        CHECK(s.under_way("get /p/") == window);
        CHECK(s.under_way("get /q/") == 0);
        while (!s.servers.requests.empty())
            s.answer(outcome::unknown);
        s.reconnect();
        CHECK(s.servers.pending() == "sync /, children /p, children /q");
    }

    TEST_CASE("thousands that wait end with the client, each once")
    {
        line_scene s;
        s.connect();
        line_scene::many reads;
        s.get(reads, 20'000);
        line_scene::listing list, waiting;
        s.contenders(waiting, "/p");
        s.session->close([] {});
        s.clock.run();
        CHECK(reads.ended == 20'000 - window);
        CHECK(waiting.ended == make_error_code(errc::closed));
        while (!s.servers.requests.empty())
            s.answer(outcome::unknown);
        CHECK(reads.ended == 20'000);
        CHECK(reads.failed == 20'000);

        line_scene other;
        other.connect();
        other.contenders(list, "/p");
        other.list(line_scene::crowd(500));
        other.session->close([] {});
        other.clock.run();
        CHECK(list.ended == make_error_code(errc::closed)); // it had more to send
        while (!other.servers.requests.empty())
            other.answer(outcome::unknown);
    }

    TEST_CASE("what is not sent when a guard ends is known not to be done")
    {
        line_scene s;
        s.session->requests.window = 1;
        s.connect();
        told<node_stat> first, second;
        told_end third;
        const auto sent = s.nodes().set("/a", "x", any_version, first.teller());
        const auto waits = s.nodes().set("/b", "x", any_version, second.teller());
        s.nodes().remove("/c", any_version, third.teller());
        waits->end_unsent(errc::not_owner);
        sent->end_unsent(errc::not_owner);
        s.clock.run();
        CHECK(second.ended_with(errc::not_owner));
        CHECK_FALSE(first.ended);
        s.answer(outcome::ok);
        CHECK(first.ended == error_code());
        CHECK(s.servers.pending() == "remove /c");
    }

    TEST_CASE("a transaction that could not be sent before a writer became a reader is refused; no lock is lost")
    {
        line_scene s;
        s.session->requests.window = 1;
        s.connect();
        const auto a = s.hold_as_writer("/p");
        told<commit_result> sent, waiting, after;
        told<recipes::grant> downgraded;
        s.nodes().commit(transaction(), s.claim_of(*a), sent.teller());
        s.nodes().commit(transaction(), s.claim_of(*a), waiting.teller());
        CHECK(a->handle->downgrade(downgraded.teller()));
        const std::string reader = scene::downgraded("/p");
        CHECK(s.servers.pending() == "batch " + s.own(*a) + ", batch create " + reader + ", remove " + a->given.node +
                                         " at version 0");
        s.servers.take().done({});
        s.clock.run();
        CHECK(sent.ended == error_code());
        CHECK(waiting.ended_with(errc::not_owner)); // behind the downgrade it would have found no node
        s.servers.take().done({reader});
        s.clock.run();
        CHECK(downgraded.ended == error_code());
        CHECK(a->losses == 0);
        s.nodes().commit(transaction(), recipes::node_operations::claim(a->handle, downgraded.value), after.teller());
        CHECK(s.servers.pending().ends_with("batch check " + reader));
    }

    TEST_CASE("a writer whose downgrade was refused goes on with transactions")
    {
        line_scene s;
        s.connect();
        const auto a = s.hold_as_writer("/p");
        told<commit_result> after;
        told<recipes::grant> downgraded;
        CHECK(a->handle->downgrade(downgraded.teller()));
        s.answer(outcome::no_auth);
        s.answer(outcome::no_node); // of a reader
        CHECK(downgraded.ended_with(errc::access_denied));
        s.nodes().commit(transaction(), s.claim_of(*a), after.teller());
        CHECK(s.servers.pending() == "batch " + s.own(*a));
    }

    TEST_CASE("whoever wants the first only reads one, and the next if that one is gone")
    {
        line_scene s;
        s.connect();
        line_scene::listing first;
        s.contenders(first, "/p", 1);
        s.list(line_scene::crowd(1'000));
        CHECK(s.servers.pending() == "get /p/lock-0000000000");
        s.answer(outcome::no_node);
        CHECK(s.servers.pending() == "get /p/lock-0000000001");
        s.show();
        CHECK(s.servers.pending() == "");
        CHECK(first.ended == error_code());
        REQUIRE(first.found.size() == 1);
        CHECK(first.found.front().sequence == 1);
        for (const bool empty : {true, false}) { // nobody, or nobody any more
            line_scene::listing nobody;
            s.contenders(nobody, "/p", 1);
            s.list(line_scene::crowd(empty ? 0 : 1));
            if (!empty)
                s.answer(outcome::no_node);
            CHECK(nobody.ended == error_code());
            CHECK(nobody.found.empty());
        }
    }

    TEST_CASE("holders are asked to let go a few at a time; with a new connection, all of them, each once")
    {
        line_scene s;
        s.connect();
        std::vector<std::string> readers;
        for (std::size_t i = 0; i < 3 * window; ++i)
            readers.push_back(numbered("a-__READ__", i));
        readers.push_back(numbered("a-__WRIT__", 3 * window));
        std::optional<std::size_t> asked;
        s.queues->revoke_holders("/p", [&](error_code ec, std::size_t n) { asked = ec ? 0 : n; });
        s.list(readers);
        CHECK(s.servers.requests.size() == window);
        for (std::size_t i = 0; i < 10; ++i)
            s.answer(outcome::ok);
        while (!s.servers.requests.empty())
            s.answer(outcome::unknown);
        s.reconnect();
        CHECK(s.servers.requests.size() == window); // no sync: nothing is read
        for (std::size_t i = 0; i < 3 * window - 1; ++i)
            s.answer(outcome::ok);
        CHECK_FALSE(asked);
        s.answer(outcome::ok);
        CHECK(asked == 3 * window);
        CHECK(s.servers.pending() == "");

        // A writer that reads on is asked by its reader's node, once, whatever the connection does.
        const std::string uuid = "_c_00000000-0000-4000-8000-999999999999-";
        asked.reset();
        s.queues->revoke("/p", "/p/" + uuid + "__WRIT__0000000003",
                          [&](error_code ec, std::size_t n) { asked = ec ? 0 : n; });
        s.answer(outcome::no_node);
        CHECK(s.servers.pending() == "set /p/" + uuid + "__READ__0000000003");
        s.answer(outcome::unknown);
        s.reconnect();
        CHECK(s.servers.pending() == "set /p/" + uuid + "__READ__0000000003");
        s.answer(outcome::ok);
        CHECK(asked == 1);
    }
}

TEST_SUITE("children in order")
{
    TEST_CASE("come by their numbers and then by their names, those that are meant")
    {
        recipes::children_in_order children;
        CHECK(children.empty());
        children.assign({"b-lock-0000000007", "notes", "lock-0000000003", "a-lock-0000000007", "x", "lock--000000005",
                         "c-__READ__0000000001"},
                        queue::parse_name);
        CHECK(children.size() == 4);
        std::vector<std::string> names;
        for (; !children.empty(); children.pop())
            names.emplace_back(children.front().name);
        CHECK(names == std::vector<std::string>{"c-__READ__0000000001", "lock-0000000003", "a-lock-0000000007",
                                                "b-lock-0000000007"});
        children.assign({"lock-0000000001"}, queue::parse_name);
        CHECK(children.size() == 1);
        children.clear();
        CHECK(children.empty());
    }
}

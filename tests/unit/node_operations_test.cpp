// The user's own operations on nodes, and transactions guarded by a lock.
#include "session_scene.hpp"

#include "queue/node_path.hpp"
#include "recipes/multi_acquisition.hpp"
#include "recipes/node_operations.hpp"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace zklock;
using namespace zklock::unit;
using withdrawal = recipes::user_request::withdrawal;

namespace {

/// What an operation ended with.
template <class Value = std::string> struct told {
    std::optional<error_code> ended;
    Value value{};

    auto teller()
    {
        return [this](error_code ec, Value v = {}) {
            CHECK_FALSE(ended);
            ended = ec;
            value = std::move(v);
        };
    }
    [[nodiscard]] bool ended_with(errc e) const { return ended == make_error_code(e); }
};
struct told_end {
    std::optional<error_code> ended;
    auto teller()
    {
        return [this](error_code ec) {
            CHECK_FALSE(ended);
            ended = ec;
        };
    }
};

struct node_scene : scene {
    node_scene() { start(); }

    recipes::node_operations& nodes() { return session->nodes(); }
    void disconnect()
    {
        servers.observer->on_disconnected();
        clock.run();
    }
    recipes::multi_acquisition::member member(const std::string& path)
    {
        return {path, [this, path](recipes::waiter w) {
                    recipes::acquire_request request;
                    static_cast<recipes::waiter&>(request) = std::move(w);
                    request.path = path;
                    return session->acquire(std::move(request));
                }};
    }
    recipes::node_operations::claim claim_of(const attempt& a) { return {a.handle, a.given}; }
    std::string own(const attempt& a) const { return "check " + a.given.node; }
    void fail(std::size_t index, outcome o)
    {
        servers.take().fail(index, o);
        clock.run();
    }
};

transaction some_writes()
{
    transaction t;
    t.create("/made-", "new", node_kind::persistent_sequential).set("/stock", "41", 7).remove("/old").check("/there", 2);
    return t;
}

} // namespace

TEST_SUITE("operations on nodes")
{
    TEST_CASE("each is one request, and ends with what the server answers")
    {
        node_scene s;
        s.connect();
        told<> created;
        told<node_content> read;
        told<node_stat> set;
        told_end removed;
        told<std::vector<std::string>> listed;
        told<std::optional<node_stat>> found, missing;
        s.nodes().create("/a-", "x", node_kind::ephemeral_sequential, created.teller());
        s.nodes().get("/a", read.teller());
        s.nodes().set("/a", "y", 3, set.teller());
        s.nodes().remove("/a", any_version, removed.teller());
        s.nodes().children("/", listed.teller());
        s.nodes().exists("/a", found.teller());
        s.nodes().exists("/b", missing.teller());
        CHECK(s.servers.pending() ==
              "create /a-, get /a, set /a at version 3, remove /a, children /, exists /a, exists /b");
        CHECK_FALSE(created.ended);

        s.number(5, 12);
        CHECK(created.ended == error_code());
        CHECK(created.value == "/a-0000000012");
        s.servers.take().show(9, "content");
        s.clock.run();
        CHECK(read.ended == error_code());
        CHECK(read.value.data == "content");
        CHECK(read.value.stat.ephemeral_owner == 9);
        node_stat stat;
        stat.version = 4;
        s.servers.take().stat(stat);
        s.clock.run();
        CHECK(set.value.version == 4);
        s.answer(outcome::ok);
        CHECK(removed.ended == error_code());
        s.list({"a", "b"});
        CHECK(listed.value == std::vector<std::string>{"a", "b"});
        s.servers.take().stat(stat);
        s.answer(outcome::no_node);
        CHECK(found.value->version == 4);
        CHECK(missing.ended == error_code());
        CHECK_FALSE(missing.value);
    }

    TEST_CASE("errors have their names")
    {
        const std::vector<std::pair<outcome, errc>> errors = {{outcome::no_node, errc::no_node},
                                                              {outcome::node_exists, errc::node_exists},
                                                              {outcome::not_empty, errc::not_empty},
                                                              {outcome::bad_version, errc::bad_version},
                                                              {outcome::no_auth, errc::access_denied},
                                                              {outcome::no_child_allowed, errc::invalid_path},
                                                              {outcome::invalid_acl, errc::invalid_option},
                                                              {outcome::quota_exceeded, errc::server_error},
                                                              {outcome::unimplemented, errc::server_error}};
        for (const auto& [answer, error] : errors) {
            CAPTURE(static_cast<int>(answer));
            node_scene s;
            s.connect();
            told<> created;
            told_end removed;
            told<commit_result> committed;
            s.nodes().create("/a", "x", node_kind::persistent, created.teller());
            s.nodes().remove("/a", 1, removed.teller());
            s.nodes().commit(some_writes(), committed.teller());
            s.answer(answer);
            s.answer(answer);
            s.fail(2, answer);
            CHECK(created.ended_with(error));
            CHECK(removed.ended == make_error_code(error));
            CHECK(committed.ended_with(error));
            CHECK(committed.value.failed == 2);
            CHECK(committed.value.results.empty());
        }
    }

    TEST_CASE("what is wrong with a path or too long is not sent")
    {
        node_scene s;
        s.connect();
        for (const char* path : {"", "a", "/a/", "/a//b", "/a/../b", "/a\n"}) {
            CAPTURE(path);
            told<> created;
            told<node_content> read;
            told_end removed;
            told<commit_result> committed;
            s.nodes().create(path, "", node_kind::persistent, created.teller());
            s.nodes().get(path, read.teller());
            s.nodes().remove(path, any_version, removed.teller());
            transaction t;
            s.nodes().commit(t.check(path), committed.teller());
            CHECK_FALSE(created.ended);
            s.clock.run();
            CHECK(created.ended_with(errc::invalid_path));
            CHECK(read.ended_with(errc::invalid_path));
            CHECK(removed.ended == make_error_code(errc::invalid_path));
            CHECK(committed.ended_with(errc::invalid_path));
        }
        CHECK(s.servers.pending().empty());

        told<> root, numbered, longest;
        told_end removed_root;
        told<node_stat> set_root, too_long;
        told<commit_result> together, container;
        s.nodes().create("/", "", node_kind::persistent, root.teller());
        s.nodes().remove("/", any_version, removed_root.teller());
        s.nodes().set("/a", std::string(store::largest_request, 'x'), any_version, too_long.teller());
        transaction t;
        t.set("/a", std::string(store::largest_request / 2, 'x')).set("/b", std::string(store::largest_request / 2, 'x'));
        s.nodes().commit(t, together.teller());
        s.nodes().commit(transaction().create("/c", "", node_kind::container), container.teller());
        s.clock.run();
        CHECK(root.ended_with(errc::invalid_path));
        CHECK(removed_root.ended == make_error_code(errc::invalid_path));
        CHECK(too_long.ended_with(errc::invalid_option));
        CHECK(together.ended_with(errc::invalid_option));
        CHECK(container.ended_with(errc::invalid_option));
        CHECK(s.servers.pending().empty());

        s.nodes().set("/", "", any_version, set_root.teller());
        s.nodes().create("/a/", "", node_kind::ephemeral_sequential, numbered.teller());
        s.nodes().create("/a", std::string(store::largest_request - 1000, 'x'), node_kind::persistent, longest.teller());
        CHECK(s.servers.pending() == "set /, create /a/, persistent /a");
    }

    TEST_CASE("they wait for a connection, in their order; one that is withdrawn meanwhile is never sent")
    {
        node_scene s;
        told<> first, withdrawn;
        told<node_content> last;
        s.nodes().create("/a", "", node_kind::persistent, first.teller());
        const auto given_up = s.nodes().create("/b", "", node_kind::persistent, withdrawn.teller());
        s.nodes().get("/a", last.teller());
        CHECK(given_up->withdraw() == withdrawal::withdrawn);
        CHECK(given_up->withdraw() == withdrawal::ended);
        CHECK(s.servers.pending().empty());
        s.connect();
        CHECK(s.servers.pending() == "persistent /a, get /a");
        CHECK_FALSE(withdrawn.ended);
    }

    TEST_CASE("a read whose answer is lost is sent again; a write is not, and the reads after it wait for a sync")
    {
        node_scene s;
        s.connect();
        told<node_content> read, after;
        told<node_stat> written;
        s.nodes().get("/a", read.teller());
        s.nodes().set("/a", "x", any_version, written.teller());
        s.answer(outcome::unknown);
        s.answer(outcome::unknown);
        CHECK(written.ended_with(errc::outcome_unknown));
        CHECK_FALSE(read.ended);
        s.nodes().get("/a", after.teller()); // the connection is known to be over
        CHECK(s.servers.pending().empty());
        s.disconnect();
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        CHECK(s.servers.pending() == "sync /, get /a, get /a");
        s.answer(outcome::unknown);
        s.answer(outcome::unknown);
        s.answer(outcome::unknown);
        s.disconnect();
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        CHECK(s.servers.pending() == "sync /, get /a, get /a"); // it had not caught up
        s.answer(outcome::ok);
        s.servers.take().show(0, "x");
        s.clock.run();
        CHECK(read.value.data == "x");
        s.answer(outcome::unknown);
        s.disconnect();
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        CHECK(s.servers.pending() == "get /a"); // nothing is in doubt any more
    }

    TEST_CASE("a write that was sent cannot be taken back; a read can")
    {
        node_scene s;
        s.connect();
        told<node_content> read;
        told<node_stat> written;
        told_end removed;
        const auto reading = s.nodes().get("/a", read.teller());
        const auto writing = s.nodes().set("/a", "x", any_version, written.teller());
        const auto removing = s.nodes().remove("/a", any_version, removed.teller());
        removing->end_unsent(errc::not_owner); // it left
        CHECK(reading->withdraw() == withdrawal::withdrawn);
        CHECK(writing->withdraw() == withdrawal::too_late);
        for (int i = 0; i < 3; ++i)
            s.answer(outcome::no_node);
        CHECK_FALSE(read.ended);
        CHECK_FALSE(written.ended);
        CHECK(removed.ended == make_error_code(errc::no_node));
        CHECK(removing->withdraw() == withdrawal::ended);
    }

    TEST_CASE("what never left is sent on the next connection, once and in the order of the calls")
    {
        node_scene s;
        s.connect();
        told<> lost, created, never;
        told<node_stat> written;
        told_end removed, aborted;
        told<commit_result> committed;
        s.nodes().create("/lost", "", node_kind::persistent, lost.teller());
        const auto creating = s.nodes().create("/a", "", node_kind::persistent, created.teller());
        s.nodes().set("/a", "x", any_version, written.teller());
        const auto ending = s.nodes().create("/never", "", node_kind::persistent, never.teller());
        const auto removing = s.nodes().remove("/b", any_version, aborted.teller());
        s.nodes().remove("/c", any_version, removed.teller());
        s.answer(outcome::unknown);
        CHECK(lost.ended_with(errc::outcome_unknown));
        s.nodes().commit(transaction().check("/d"), committed.teller()); // meanwhile
        ending->end_unsent(errc::not_owner);
        for (int i = 0; i < 5; ++i) {
            s.servers.take().strand();
            s.clock.run();
        }
        CHECK_FALSE(created.ended);
        CHECK_FALSE(written.ended);
        CHECK(never.ended_with(errc::not_owner));
        CHECK(removing->withdraw() == withdrawal::withdrawn);
        s.disconnect();
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        CHECK(s.servers.pending() == "sync /, persistent /a, set /a, remove /c, batch check /d");
        CHECK(creating->withdraw() == withdrawal::too_late); // now it left
        s.answer(outcome::ok);
        s.answer(outcome::ok);
        s.answer(outcome::unknown);
        CHECK(written.ended_with(errc::outcome_unknown));
        CHECK_FALSE(aborted.ended);
        CHECK_FALSE(created.ended);
        s.session->close([] {});
        s.servers.take().strand();
        s.servers.take().strand();
        s.clock.run();
        CHECK(removed.ended == make_error_code(errc::closed));
        CHECK(committed.ended_with(errc::closed));
    }

    TEST_CASE("a close ends what waits; what was sent has the answer that the store has for it")
    {
        node_scene s;
        s.connect();
        told<node_content> read;
        told<node_stat> written;
        told<> waiting, late;
        s.nodes().get("/a", read.teller());
        s.nodes().set("/a", "x", any_version, written.teller());
        bool closed = false;
        s.session->close([&] { closed = true; });
        s.nodes().create("/late", "", node_kind::persistent, late.teller());
        s.answer(outcome::unknown);
        s.answer(outcome::unknown);
        s.servers.closed();
        s.clock.run();
        CHECK(closed);
        CHECK(read.ended_with(errc::closed));
        CHECK(written.ended_with(errc::outcome_unknown));
        CHECK(late.ended_with(errc::closed));

        node_scene never;
        never.nodes().create("/a", "", node_kind::persistent, waiting.teller());
        never.servers.observer->on_authentication_failed();
        never.clock.run();
        CHECK(waiting.ended_with(errc::authentication_failed));
    }
}

TEST_SUITE("transactions")
{
    TEST_CASE("without a guard: one request, and a result for each operation")
    {
        node_scene s;
        s.connect();
        told<commit_result> done, empty;
        s.nodes().commit(some_writes(), done.teller());
        s.nodes().commit(transaction(), empty.teller());
        CHECK(s.servers.pending() == "batch create /made-, set /stock at version 7, remove /old, check /there at version 2");
        s.clock.run();
        CHECK(empty.ended == error_code());
        const auto request = s.servers.take();
        REQUIRE(request.writes.size() == 4);
        CHECK(request.writes[0].data == "new");
        CHECK(request.writes[0].created == node_kind::persistent_sequential);
        CHECK(request.writes[1].data == "41");
        request.done({"/made-0000000003"});
        s.clock.run();
        CHECK(done.ended == error_code());
        REQUIRE(done.value.results.size() == 4);
        CHECK(done.value.results[0].path == "/made-0000000003");
        CHECK_FALSE(done.value.results[0].stat);
        CHECK(done.value.results[1].stat);
        CHECK(done.value.results[2].path.empty());
        CHECK_FALSE(done.value.failed);
    }

    TEST_CASE("guarded: the lock's node is looked for first, in any version; the release goes behind it")
    {
        node_scene s;
        s.connect();
        const auto a = s.hold("/p", 0);
        told<commit_result> done, asked;
        s.nodes().commit(some_writes(), s.claim_of(*a), done.teller());
        s.nodes().commit(transaction(), s.claim_of(*a), asked.teller());
        s.release(*a);
        CHECK(s.servers.pending() ==
              "batch " + s.own(*a) + ", create /made-, set /stock at version 7, remove /old, check /there at version 2" +
                  ", batch " + s.own(*a) + ", remove " + a->given.node);
        s.fail(2, outcome::bad_version);
        CHECK(done.ended_with(errc::bad_version));
        CHECK(done.value.failed == 1); // counted without the lock's
        s.servers.take().done({});
        s.clock.run();
        CHECK(asked.ended == error_code());
        CHECK(a->losses == 0);
    }

    TEST_CASE("what the servers say of the lock's node is about the lock")
    {
        node_scene s;
        s.connect();
        const auto a = s.hold("/p", 0);
        told<commit_result> forbidden, unclear, lost, after;
        s.nodes().commit(some_writes(), s.claim_of(*a), forbidden.teller());
        s.nodes().commit(some_writes(), s.claim_of(*a), unclear.teller());
        s.nodes().commit(some_writes(), s.claim_of(*a), lost.teller());
        s.fail(0, outcome::no_auth);
        CHECK(forbidden.ended_with(errc::access_denied));
        CHECK_FALSE(forbidden.value.failed);
        s.answer(outcome::server_error); // about none of them
        CHECK(unclear.ended_with(errc::server_error));
        CHECK_FALSE(unclear.value.failed);
        CHECK(a->losses == 0);
        s.servers.take().fail(0, outcome::no_node);
        CHECK_FALSE(a->handle->held(s.clock.now()));
        s.clock.run();
        CHECK(lost.ended_with(errc::lost));
        CHECK_FALSE(lost.value.failed);
        CHECK(a->losses == 1);
        s.nodes().commit(some_writes(), s.claim_of(*a), after.teller());
        s.clock.run();
        CHECK(after.ended_with(errc::lost));
        CHECK(s.servers.pending().empty());
    }

    TEST_CASE("after the lease has ended nothing is asked, noticed or not")
    {
        node_scene s;
        s.connect();
        const auto a = s.hold("/p", 0);
        told<commit_result> late;
        s.clock.skip(20s); // the process did not run
        s.nodes().commit(some_writes(), s.claim_of(*a), late.teller());
        CHECK(s.servers.pending().find("batch") == std::string::npos);
        s.clock.run();
        CHECK(late.ended_with(errc::lost));
        CHECK(a->losses == 1);
    }

    TEST_CASE("while disconnected it waits as long as the lock is held")
    {
        node_scene s;
        s.connect();
        const auto a = s.hold("/p", 0), b = s.hold("/q", 0);
        s.disconnect();
        told<commit_result> sent, lost, released;
        s.nodes().commit(some_writes(), s.claim_of(*a), sent.teller());
        const auto unsent = s.nodes().commit(some_writes(), s.claim_of(*b), released.teller());
        unsent->end_unsent(errc::not_owner); // as at b's release
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        CHECK(s.servers.pending().find("batch " + s.own(*a)) != std::string::npos);
        CHECK(s.servers.pending().find("batch " + s.own(*b)) == std::string::npos);
        s.clock.run();
        CHECK(released.ended_with(errc::not_owner));
        while (!s.servers.requests.empty())
            s.answer(outcome::unknown);
        CHECK(sent.ended_with(errc::outcome_unknown));
        s.disconnect();
        s.nodes().commit(some_writes(), s.claim_of(*a), lost.teller());
        s.clock.pass(10s);
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        s.clock.run();
        CHECK(lost.ended_with(errc::lost));
        CHECK(s.servers.pending().find("batch") == std::string::npos);
    }

    TEST_CASE("a writer that becomes a reader while disconnected: what it had called before is done before")
    {
        node_scene s;
        s.connect();
        const auto a = s.acquire("/p", {}, recipes::patience::queue, queue::contender_kind::writer);
        s.number(100, 0);
        s.alone(1, 100);
        REQUIRE(a->ended == error_code());
        const std::string reader = "/p/_c_00000000-0000-4000-8000-000000000001-__READ__0000000000";
        told<commit_result> unknown, waiting, after;
        told<recipes::grant> downgraded;
        s.nodes().commit(transaction(), s.claim_of(*a), unknown.teller());
        s.answer(outcome::unknown);
        CHECK(unknown.ended_with(errc::outcome_unknown));
        s.nodes().commit(transaction(), s.claim_of(*a), waiting.teller());
        CHECK(a->handle->downgrade(downgraded.teller()));
        s.disconnect();
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        const std::string commit = "batch " + s.own(*a);
        const std::string downgrade = "batch create " + reader + ", remove " + a->given.node + " at version 0";
        CHECK(s.servers.pending().starts_with("sync /, " + commit + ", "));
        CHECK(s.servers.pending().ends_with(downgrade));
        while (!s.servers.requests.empty()) {
            const auto request = s.servers.take();
            if (!request.writes.empty())
                request.done({reader});
            else if (request.show)
                request.show(0, "");
            else if (request.list)
                request.list({std::string(queue::name_of(a->given.node))});
            else
                request.answer(outcome::ok);
            s.clock.run();
        }
        CHECK(waiting.ended == error_code());
        CHECK(downgraded.ended == error_code());
        CHECK(downgraded.value.node == reader);
        CHECK(a->losses == 0);
        s.nodes().commit(transaction(), recipes::node_operations::claim(a->handle, downgraded.value), after.teller());
        CHECK(s.servers.pending().ends_with("batch check " + reader));
    }

    TEST_CASE("of several locks all nodes are looked for")
    {
        node_scene s;
        s.connect();
        node_scene::attempt both;
        recipes::waiter waiter;
        waiter.done = [&both](error_code ec, const recipes::grant& g) {
            both.ended = ec;
            both.given = g;
        };
        waiter.lost = [&both] { ++both.losses; };
        both.handle =
            recipes::multi_acquisition::start(s.clock, {s.member("/p"), s.member("/q")}, std::move(waiter));
        s.clock.run();
        for (const int number : {3, 4}) {
            s.number(100 + number, number);
            s.alone(number + 1, 100 + number);
        }
        REQUIRE(both.ended == error_code());
        told<commit_result> lost;
        s.nodes().commit(transaction().set("/stock", "1"), s.claim_of(both), lost.teller());
        CHECK(s.servers.pending() ==
              "batch check /p/" + s.node(1, 3) + ", check /q/" + s.node(2, 4) + ", set /stock");
        s.fail(1, outcome::no_node);
        CHECK(lost.ended_with(errc::lost));
        CHECK(both.losses == 1);
    }
}

TEST_SUITE("errors")
{
    TEST_CASE("each has a message of its own; some are the standard's")
    {
        std::set<std::string> messages;
        constexpr int last = static_cast<int>(errc::outcome_unknown);
        for (int value = 1; value <= last; ++value)
            messages.insert(make_error_code(static_cast<errc>(value)).message());
        CHECK(messages.size() == last);
        CHECK_FALSE(messages.contains(make_error_code(static_cast<errc>(last + 1000)).message()));
        namespace generic = boost::system::errc;
        CHECK(make_error_code(errc::no_node) == generic::no_such_file_or_directory);
        CHECK(make_error_code(errc::node_exists) == generic::file_exists);
        CHECK(make_error_code(errc::not_empty) == generic::directory_not_empty);
        CHECK(make_error_code(errc::bad_version) != generic::success);
    }
}

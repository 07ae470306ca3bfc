// The user's own operations on nodes.
#include "node_scene.hpp"

#include <algorithm>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace zklock;
using namespace zklock::unit;
using withdrawal = recipes::user_request::withdrawal;

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
        s.nodes().create("/a-", "x", node_kind::ephemeral_sequential, {}, created.teller());
        s.nodes().get("/a", read.teller());
        s.nodes().set("/a", "y", 3, set.teller());
        s.nodes().remove("/a", any_version, removed.teller());
        s.nodes().children("/", listed.teller());
        s.nodes().exists("/a", found.teller());
        s.nodes().exists("/b", missing.teller());
        CHECK(s.servers.pending() ==
              "create /a-, get /a, set /a at version 3, remove /a, children /, exists /a, exists /b");
        CHECK_FALSE(created.ended);

        asked(s).to("create /a-").number(5, 12);
        CHECK(created.ended == error_code());
        CHECK(created.value == "/a-0000000012");
        asked(s).to("get /a").show(9, "content");
        CHECK(read.ended == error_code());
        CHECK(read.value.data == "content");
        CHECK(read.value.stat.ephemeral_owner == 9);
        node_stat stat;
        stat.version = 4;
        asked(s).to("set /a at version 3").stat(stat);
        CHECK(set.value.version == 4);
        asked(s).to("remove /a").ends(outcome::ok);
        CHECK(removed.ended == error_code());
        asked(s).to("children /").list({"a", "b"});
        CHECK(listed.value == std::vector<std::string>{"a", "b"});
        asked(s).to("exists /a").kept().stat(stat);
        asked(s).to("exists /b").ends(outcome::no_node);
        CHECK(found.value->version == 4);
        CHECK(missing.ended == error_code());
        CHECK_FALSE(missing.value);
    }

    TEST_CASE("access lists: given to what is created, read, and set, each with one request")
    {
        node_scene s;
        s.connect();
        const access_list readers{digest_entry("ann", "secret"), {"world", "anyone", permission::read}};
        told<> created, plain;
        told<node_access> read, refused;
        told_end set, set_back;
        told<commit_result> committed;
        s.nodes().create("/a", "x", node_kind::persistent, readers, created.teller());
        s.nodes().create("/b", "x", node_kind::persistent, {}, plain.teller());
        s.nodes().get_acl("/", read.teller());
        s.nodes().get_acl("/b", refused.teller());
        s.nodes().set_acl("/a", readers, 3, set.teller());
        s.nodes().set_acl("/a", acl::open, any_version, set_back.teller());
        zklock::transaction both;
        both.create("/c", "", node_kind::persistent, readers).create("/d", "");
        s.nodes().commit(both, committed.teller());
        CHECK(s.servers.pending() == "persistent /a, persistent /b, get_acl /, get_acl /b, set_acl /a at version 3, "
                                     "set_acl /a, batch create /c, create /d");
        const std::string as_text = "digest:ann:cdrwa, world:anyone:r";
        asked(s).to("persistent /a").has_access(as_text).ends(outcome::ok);
        asked(s).to("persistent /b").has_access("").ends(outcome::invalid_acl);
        CHECK(created.ended == error_code());
        CHECK(plain.ended_with(errc::invalid_option));
        node_stat stat;
        stat.acl_version = 7;
        const auto answer = asked(s).to("get_acl /").kept();
        answer.show_access(readers, stat);
        s.clock.run();
        asked(s).to("get_acl /b").ends(outcome::no_auth);
        CHECK(read.ended == error_code());
        CHECK(read.value.list == readers);
        CHECK(read.value.stat.acl_version == 7);
        CHECK(refused.ended_with(errc::access_denied));
        asked(s).to("set_acl /a at version 3").has_access(as_text).ends(outcome::bad_version);
        asked(s).to("set_acl /a").has_access("world:anyone:cdrwa").ends(outcome::ok);
        CHECK(set.ended == make_error_code(errc::bad_version));
        CHECK(set_back.ended == error_code());
        const auto batch = asked(s).to_batch_of(2).kept();
        CHECK(batch.writes[0].access == as_text);
        CHECK(batch.writes[1].access.empty());
        batch.done({"/c", "/d"});
        s.clock.run();
        CHECK(committed.ended == error_code());
    }

    TEST_CASE("an access list whose answer is lost: read again, and set once at most")
    {
        node_scene s;
        s.connect();
        told<node_access> read;
        told_end set;
        s.nodes().get_acl("/a", read.teller());
        s.nodes().set_acl("/a", acl::open, 0, set.teller());
        asked(s).to("get_acl /a").ends(outcome::unknown).to("set_acl /a at version 0").ends(outcome::unknown);
        s.disconnect();
        s.connect(5, false);
        CHECK(set.ended == make_error_code(errc::outcome_unknown));
        CHECK_FALSE(read.ended);
        CHECK_FALSE(s.servers.asks("set_acl"));
        asked(s).to("sync /").ends(outcome::ok);
        const auto again = asked(s).to("get_acl /a").kept();
        again.show_access(acl::open, {});
        s.clock.run();
        CHECK(read.ended == error_code());
    }

    TEST_CASE("an access list that cannot be right is refused without a request, and named in the log")
    {
        std::string log;
        node_scene s([&](client_options& o) {
            o.log = [&](log_level level, std::string_view text) {
                if (level == log_level::error)
                    log = text;
            };
        });
        s.connect();
        const auto refused = [&](const access_list& access) {
            told<> created;
            told_end set;
            told<commit_result> committed;
            zklock::transaction one;
            one.create("/a", "", node_kind::persistent, access);
            s.nodes().create("/a", "", node_kind::persistent, access, created.teller());
            s.nodes().commit(one, committed.teller());
            s.nodes().set_acl("/a", access, any_version, set.teller());
            s.clock.run();
            CHECK(created.ended_with(errc::invalid_option));
            CHECK(committed.ended_with(errc::invalid_option));
            CHECK(set.ended == make_error_code(errc::invalid_option));
            CHECK(s.servers.pending() == "");
            CHECK(log.find("/a is refused: access is ") != log.npos);
        };
        refused(access_list(std::vector<access_entry>()));
        refused(access_list(std::vector<access_entry>(65, {"world", "anyone"})));
        refused(acl::creator_all); // without credentials
        refused({{"", "x"}});
        refused({{"digest", std::string("x\0", 2)}});
        refused({{"world", "anyone", 0}});
        refused({{"world", "anyone", 32}});
        refused({{"digest", std::string(8 * 1024, 'x')}});
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
            s.nodes().create("/a", "x", node_kind::persistent, {}, created.teller());
            s.nodes().remove("/a", 1, removed.teller());
            s.nodes().commit(some_writes(), committed.teller());
            asked(s).to("persistent /a").ends(answer).to("remove /a at version 1").ends(answer);
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
            s.nodes().create(path, "", node_kind::persistent, {}, created.teller());
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
        s.nodes().create("/", "", node_kind::persistent, {}, root.teller());
        s.nodes().remove("/", any_version, removed_root.teller());
        s.nodes().set("/a", std::string(store::largest_request, 'x'), any_version, too_long.teller());
        transaction t;
        const std::string half(store::largest_request / 2, 'x');
        t.set("/a", half).set("/b", half);
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
        s.nodes().create("/a/", "", node_kind::ephemeral_sequential, {}, numbered.teller());
        s.nodes().create("/a", std::string(store::largest_request - 1000, 'x'), node_kind::persistent, {},
                         longest.teller());
        CHECK(s.servers.pending() == "set /, create /a/, persistent /a");
    }

    TEST_CASE("they wait for a connection, in their order; one that is withdrawn meanwhile is never sent")
    {
        node_scene s;
        told<> first, withdrawn;
        told<node_content> last;
        s.nodes().create("/a", "", node_kind::persistent, {}, first.teller());
        const auto given_up = s.nodes().create("/b", "", node_kind::persistent, {}, withdrawn.teller());
        s.nodes().get("/a", last.teller());
        CHECK(given_up->withdraw() == withdrawal::withdrawn);
        CHECK(given_up->withdraw() == withdrawal::ended);
        CHECK(s.servers.pending().empty());
        s.connect();
        CHECK(s.servers.pending() == "persistent /a, get /a");
        CHECK_FALSE(withdrawn.ended);
    }

    TEST_CASE("many may wait for a connection, before their first try or after")
    {
        constexpr int many = 30'000;
        node_scene s;
        int ended = 0;
        const auto read = [&](int times) {
            for (int i = 0; i < times; ++i)
                s.nodes().exists("/a", [&](error_code, std::optional<node_stat>) { ++ended; });
        };
        const std::clock_t began = std::clock();
        read(many);
        s.connect();
        CHECK(s.servers.requests.size() == recipes::request_line::most_under_way);
        asked(s).to("exists /a").ends(outcome::unknown);
        read(many); // the connection is known to be over
        while (!s.servers.requests.empty())
            asked(s).to("exists /a").kept().answer(outcome::unknown); // these go before them
        s.disconnect();
        s.connect(5, false);
        CHECK(s.servers.requests.size() == recipes::request_line::most_under_way + 1); // behind a sync
        while (!s.servers.requests.empty())
            s.servers.take().answer(outcome::ok);
        s.clock.run();
        CHECK((std::clock() - began) / CLOCKS_PER_SEC < 4); // of the processor; a fraction of it is needed
        CHECK(ended == 2 * many);
    }

    TEST_CASE("a read whose answer is lost is sent again; a write is not, and the reads after it wait for a sync")
    {
        node_scene s;
        s.connect();
        told<node_content> read, after;
        told<node_stat> written;
        s.nodes().get("/a", read.teller());
        s.nodes().set("/a", "x", any_version, written.teller());
        asked(s).to("get /a").ends(outcome::unknown).to("set /a").ends(outcome::unknown);
        CHECK(written.ended_with(errc::outcome_unknown));
        CHECK_FALSE(read.ended);
        s.nodes().get("/a", after.teller()); // the connection is known to be over
        CHECK(s.servers.pending().empty());
        s.disconnect();
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        CHECK(s.servers.pending() == "sync /, get /a, get /a");
        asked(s).to("sync /").ends(outcome::unknown)
            .to("get /a").ends(outcome::unknown)
            .to("get /a").ends(outcome::unknown);
        s.disconnect();
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        CHECK(s.servers.pending() == "sync /, get /a, get /a"); // it had not caught up
        asked(s).to("sync /").ends(outcome::ok).to("get /a").show(0, "x");
        CHECK(read.value.data == "x");
        asked(s).to("get /a").ends(outcome::unknown);
        s.disconnect();
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        CHECK(s.servers.pending() == "sync /, get /a"); // on each connection
    }

    TEST_CASE("on every connection but the first, what is read first waits for a sync; what is written does not")
    {
        node_scene s;
        s.connect();
        told<node_content> first, second, third;
        told<std::vector<std::string>> list;
        told<node_stat> written;
        s.nodes().get("/a", first.teller());
        asked(s).only("get /a").kept().show(0, "x");
        s.disconnect();
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        CHECK(s.servers.pending() == "");
        s.nodes().set("/a", "y", any_version, written.teller());
        s.nodes().get("/a", second.teller());
        s.nodes().children("/a", list.teller());
        CHECK(s.servers.pending() == "set /a, sync /, get /a, children /a");
        asked(s).to("set /a").ends(outcome::ok).to("sync /").ends(outcome::ok);
        asked(s).to("get /a").kept().show(0, "y");
        asked(s).to("children /a").list({"b"});
        CHECK(second.value.data == "y");
        CHECK(list.value == std::vector<std::string>{"b"});
        s.nodes().get("/a", third.teller());
        asked(s).only("get /a").kept().show(0, "y");
        // Contenders, too, and in a new session.
        s.servers.observer->on_disconnected();
        s.servers.observer->on_expired();
        s.servers.observer->on_connected({6, 10s, true, s.clock.now()});
        s.clock.run();
        std::optional<error_code> listed;
        s.queues->contenders("/p", [&](error_code ec, const std::vector<zklock::contender>&) { listed = ec; });
        CHECK(s.servers.pending() == "sync /, children /p");
    }

    TEST_CASE("a log of all lines tells which writes have failed, and why, for a user who does not look")
    {
        for (const log_level most : {log_level::debug, log_level::info}) {
            CAPTURE(to_string(most));
            std::vector<std::string> lines;
            node_scene s([&](client_options& o) {
                o.log = store::leveled_log{most, [&](log_level level, std::string_view line) {
                                               if (level != log_level::error)
                                                   lines.emplace_back(line);
                                           }};
            });
            s.connect();
            lines.clear();
            told<> created;
            told<node_stat> set, unknown;
            told_end removed, done;
            told<node_content> read;
            s.nodes().create("/no/parent", "", node_kind::persistent, {}, created.teller());
            s.nodes().set("/a", "y", 3, set.teller());
            s.nodes().remove("bad path", any_version, removed.teller());
            s.nodes().remove("/b", any_version, done.teller());
            s.nodes().get("/a", read.teller());
            s.nodes().set("/c", "y", any_version, unknown.teller());
            asked(s).to("persistent /no/parent").ends(outcome::no_node);
            asked(s).to("set /a at version 3").ends(outcome::bad_version).to("remove /b").ends(outcome::ok);
            asked(s).to("get /a").ends(outcome::no_node).to("set /c").ends(outcome::unknown);
            CHECK(unknown.ended_with(errc::outcome_unknown));
            CHECK(removed.ended == make_error_code(errc::invalid_path));
            if (most == log_level::info) {
                CHECK(lines.empty());
                continue;
            }
            REQUIRE(lines.size() == 4);
            std::ranges::sort(lines);
            CHECK(lines[0] == "create /no/parent has failed: the node does not exist");
            CHECK(lines[1] == "remove bad path has failed: not a path a lock can have");
            CHECK(lines[2] == "set /a has failed: the node has another version");
            CHECK(lines[3] == "set /c has failed: the answer was lost: it may have been done");
        }
    }

    TEST_CASE("what is read behind a sync that is refused may be too old: "
              "its user is told why, and the next asks again")
    {
        int logged = 0;
        node_scene s([&](client_options& o) {
            o.log = [&logged](log_level, std::string_view) { ++logged; };
        });
        s.connect();
        s.disconnect();
        s.servers.observer->on_connected({5, 10s, false, s.clock.now()});
        told<node_content> old, again, read;
        s.nodes().get("/a", old.teller());
        asked(s).to("sync /").ends(outcome::no_auth).to("get /a").show(0, "x");
        CHECK(old.ended_with(errc::access_denied));
        s.nodes().get("/a", again.teller());
        CHECK(s.servers.pending() == "sync /, get /a");
        asked(s).to("sync /").ends(outcome::server_error).to("get /a").show(0, "x");
        CHECK(again.ended_with(errc::server_error));
        CHECK(logged == 1); // once for a connection
        s.nodes().get("/a", read.teller());
        CHECK(s.servers.pending() == "sync /, get /a");
        asked(s).to("sync /").ends(outcome::ok).to("get /a").show(0, "y");
        CHECK(read.value.data == "y");
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
        s.nodes().create("/lost", "", node_kind::persistent, {}, lost.teller());
        const auto creating = s.nodes().create("/a", "", node_kind::persistent, {}, created.teller());
        s.nodes().set("/a", "x", any_version, written.teller());
        const auto ending = s.nodes().create("/never", "", node_kind::persistent, {}, never.teller());
        const auto removing = s.nodes().remove("/b", any_version, aborted.teller());
        s.nodes().remove("/c", any_version, removed.teller());
        asked(s).to("persistent /lost").ends(outcome::unknown);
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
        CHECK(s.servers.pending() == "persistent /a, set /a, remove /c, batch check /d");
        CHECK(creating->withdraw() == withdrawal::too_late); // now it left
        asked(s).to("persistent /a").ends(outcome::ok).to("set /a").ends(outcome::unknown);
        CHECK(written.ended_with(errc::outcome_unknown));
        CHECK_FALSE(aborted.ended);
        CHECK_FALSE(created.ended);
        s.session->close([] {});
        asked(s).to("remove /c").kept().strand();
        asked(s).to("batch check /d").strand();
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
        s.nodes().create("/late", "", node_kind::persistent, {}, late.teller());
        asked(s).to("get /a").ends(outcome::unknown).to("set /a").ends(outcome::unknown);
        s.servers.closed();
        s.clock.run();
        CHECK(closed);
        CHECK(read.ended_with(errc::closed));
        CHECK(written.ended_with(errc::outcome_unknown));
        CHECK(late.ended_with(errc::closed));

        node_scene never;
        never.nodes().create("/a", "", node_kind::persistent, {}, waiting.teller());
        never.servers.observer->on_authentication_failed();
        never.clock.run();
        CHECK(waiting.ended_with(errc::authentication_failed));
    }
}

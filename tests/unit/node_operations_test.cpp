// The user's own operations on nodes: what is sent, what is not, and how it ends.
#include "node_scene.hpp"

using namespace zklock::unit;

TEST_CASE("each is one request, and ends with what the server answers")
{
    connected<node_scene> s;
    told<> created;
    told<node_content> read;
    told<node_stat> set;
    told_end removed;
    told<std::vector<std::string>> listed;
    told<std::optional<node_stat>> found, missing;
    nodes::create(*s.session, "/a-", "x", node_kind::ephemeral_sequential, {}, created.teller());
    nodes::get(*s.session, "/a", read.teller());
    nodes::set(*s.session, "/a", "y", 3, set.teller());
    nodes::remove(*s.session, "/a", any_version, removed.teller());
    nodes::children(*s.session, "/", listed.teller());
    nodes::exists(*s.session, "/a", found.teller());
    nodes::exists(*s.session, "/b", missing.teller());
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

TEST_CASE("errors have their names")
{
    const std::vector<std::pair<outcome, errc>> errors = {{outcome::no_node, errc::no_node},
                                                          {outcome::node_exists, errc::node_exists},
                                                          {outcome::not_empty, errc::not_empty},
                                                          {outcome::bad_version, errc::bad_version},
                                                          {outcome::no_auth, errc::access_denied},
                                                          {outcome::no_child_allowed, errc::invalid_path},
                                                          {outcome::invalid_acl, errc::invalid_option},
                                                          {outcome::quota_exceeded, errc::quota_exceeded},
                                                          {outcome::unimplemented, errc::server_error}};
    for (const auto& [answer, error] : errors) {
        CAPTURE(static_cast<int>(answer));
        connected<node_scene> s;
        told<> created;
        told_end removed;
        told<commit_result> committed;
        nodes::create(*s.session, "/a", "x", node_kind::persistent, {}, created.teller());
        nodes::remove(*s.session, "/a", 1, removed.teller());
        nodes::commit(*s.session, some_writes(), {}, committed.teller());
        asked(s).to("persistent /a").ends(answer).to("remove /a at version 1").ends(answer);
        s.fail(2, answer);
        CHECK(created.ended_with(error));
        CHECK(removed.ended == error);
        CHECK(committed.ended_with(error));
        CHECK(committed.value.failed == 2);
        CHECK(committed.value.results.empty());
    }
}

TEST_CASE("what is wrong with a path or too long is not sent")
{
    connected<node_scene> s;
    for (const char* path : {"", "a", "/a/", "/a//b", "/a/../b", "/a\n"}) {
        CAPTURE(path);
        told<> created;
        told<node_content> read;
        told_end removed;
        told<commit_result> committed;
        nodes::create(*s.session, path, "", node_kind::persistent, {}, created.teller());
        nodes::get(*s.session, path, read.teller());
        nodes::remove(*s.session, path, any_version, removed.teller());
        transaction t;
        nodes::commit(*s.session, t.check(path), {}, committed.teller());
        CHECK_FALSE(created.ended);
        s.clock.run();
        CHECK(created.ended_with(errc::invalid_path));
        CHECK(read.ended_with(errc::invalid_path));
        CHECK(removed.ended == errc::invalid_path);
        CHECK(committed.ended_with(errc::invalid_path));
    }
    CHECK(s.servers.pending().empty());

    told<> root, numbered, longest;
    told_end removed_root;
    told<node_stat> set_root, too_long;
    told<commit_result> together, container;
    nodes::create(*s.session, "/", "", node_kind::persistent, {}, root.teller());
    nodes::remove(*s.session, "/", any_version, removed_root.teller());
    nodes::set(*s.session, "/a", std::string(store::largest_request, 'x'), any_version, too_long.teller());
    transaction t;
    const std::string half(store::largest_request / 2, 'x');
    t.set("/a", half).set("/b", half);
    nodes::commit(*s.session, t, {}, together.teller());
    nodes::commit(*s.session, transaction().create("/c", "", node_kind::container), {}, container.teller());
    s.clock.run();
    CHECK(root.ended_with(errc::invalid_path));
    CHECK(removed_root.ended == errc::invalid_path);
    CHECK(too_long.ended_with(errc::invalid_option));
    CHECK(together.ended_with(errc::invalid_option));
    CHECK(container.ended_with(errc::invalid_option));
    CHECK(s.servers.pending().empty());

    nodes::set(*s.session, "/", "", any_version, set_root.teller());
    nodes::create(*s.session, "/a/", "", node_kind::ephemeral_sequential, {}, numbered.teller());
    nodes::create(*s.session, "/a", std::string(store::largest_request - 1000, 'x'), node_kind::persistent, {},
                  longest.teller());
    CHECK(s.servers.pending() == "set /, create /a/, persistent /a");
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
        nodes::create(*s.session, "/no/parent", "", node_kind::persistent, {}, created.teller());
        nodes::set(*s.session, "/a", "y", 3, set.teller());
        nodes::remove(*s.session, "bad path", any_version, removed.teller());
        nodes::remove(*s.session, "/b", any_version, done.teller());
        nodes::get(*s.session, "/a", read.teller());
        nodes::set(*s.session, "/c", "y", any_version, unknown.teller());
        asked(s).to("persistent /no/parent").ends(outcome::no_node);
        asked(s).to("set /a at version 3").ends(outcome::bad_version).to("remove /b").ends(outcome::ok);
        asked(s).to("get /a").ends(outcome::no_node).to("set /c").ends(outcome::unknown);
        CHECK(unknown.ended_with(errc::outcome_unknown));
        CHECK(removed.ended == errc::invalid_path);
        if (most == log_level::info) {
            CHECK(lines.empty());
            continue;
        }
        REQUIRE(lines.size() == 4);
        std::ranges::sort(lines);
        CHECK(lines[0] == "create /no/parent has failed: the node does not exist");
        CHECK(lines[1] == "remove bad path has failed: not a valid path for this");
        CHECK(lines[2] == "set /a has failed: the node has another version");
        CHECK(lines[3] == "set /c has failed: the answer was lost: it may have been done");
    }
}

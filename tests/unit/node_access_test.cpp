// Access lists in the user's own operations on nodes.
#include "node_scene.hpp"

using namespace zklock::unit;

TEST_CASE("access lists: given to what is created, read, and set, each with one request")
{
    connected<node_scene> s;
    const access_list readers{digest_entry("ann", "secret"), {"world", "anyone", permission::read}};
    told<> created, plain;
    told<node_access> read, refused;
    told_end set, set_back;
    told<commit_result> committed;
    nodes::create(*s.session, "/a", "x", node_kind::persistent, readers, created.teller());
    nodes::create(*s.session, "/b", "x", node_kind::persistent, {}, plain.teller());
    nodes::get_acl(*s.session, "/", read.teller());
    nodes::get_acl(*s.session, "/b", refused.teller());
    nodes::set_acl(*s.session, "/a", readers, 3, set.teller());
    nodes::set_acl(*s.session, "/a", acl::open, any_version, set_back.teller());
    zklock::transaction both;
    both.create("/c", "", node_kind::persistent, readers).create("/d", "");
    nodes::commit(*s.session, both, {}, committed.teller());
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
    CHECK(set.ended == errc::bad_version);
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
    connected<node_scene> s;
    told<node_access> read;
    told_end set;
    nodes::get_acl(*s.session, "/a", read.teller());
    nodes::set_acl(*s.session, "/a", acl::open, 0, set.teller());
    asked(s).to("get_acl /a").ends(outcome::unknown).to("set_acl /a at version 0").ends(outcome::unknown);
    s.disconnect();
    s.connect(5, false);
    CHECK(set.ended == errc::outcome_unknown);
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
        nodes::create(*s.session, "/a", "", node_kind::persistent, access, created.teller());
        nodes::commit(*s.session, one, {}, committed.teller());
        nodes::set_acl(*s.session, "/a", access, any_version, set.teller());
        s.clock.run();
        CHECK(created.ended_with(errc::invalid_option));
        CHECK(committed.ended_with(errc::invalid_option));
        CHECK(set.ended == errc::invalid_option);
        asked(s).nothing_else();
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

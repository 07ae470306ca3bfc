// Access lists as values; and that everything a lock makes gets its own.
#include "semaphore_scene.hpp"

using namespace zklock::unit;

namespace {

const std::string own_text = "digest:ann:cdrwa, digest:bob:cdrwa";

access_list own_list()
{
    return {digest_entry("ann", "secret"), digest_entry("bob", "secret")};
}

mutex_options with_own_list()
{
    return with(&mutex_options::access, own_list());
}

} // namespace

TEST_CASE("digests are those of the servers")
{
    CHECK(digest_entry("test", "test").id == "test:V28q/NynI4JI3Rk54h0r8O5kMug="); // ZooKeeper's documentation
    CHECK(digest_entry("super", "admin").id == "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=");
    // As DigestAuthenticationProvider makes them, where the padding takes a block more, and where it just fits.
    CHECK(digest_entry("u", std::string(53, 'p')).id == "u:9haYA/nqM3XxNMGh/CO/vVlsjwY=");
    CHECK(digest_entry("u", std::string(54, 'p')).id == "u:eKm7CCgUeLQmQ+V5LVuT4xJjoMU=");
    CHECK(digest_entry("", "", permission::read) == access_entry("digest", ":BaefBs8/Z/cm2uaNGKIpD2yaUMk=", 1));
}

TEST_CASE("they are written as text without hashes, and compared with them")
{
    CHECK(to_string(access_list()) == "world:anyone:cdrwa");
    CHECK(to_string(access_list(acl::creator_all)) == "auth:cdrwa");
    CHECK(to_string(access_list(acl::creator_all_or_read)) == "auth:cdrwa, world:anyone:r");
    CHECK(to_string(access_list{{"ip", "10.0.0.0/8", permission::read | permission::write},
                                digest_entry("ann", "secret", permission::create | permission::remove)}) ==
          "ip:10.0.0.0/8:rw, digest:ann:cd");
    CHECK(to_string(access_list(std::vector<access_entry>())).empty());
    CHECK(access_list(acl::open) == access_list{{"world", "anyone"}});
    CHECK(access_list{digest_entry("ann", "a")} != access_list{digest_entry("ann", "b")});
    CHECK(access_list{{"world", "anyone"}} != access_list{{"world", "anyone", permission::read}});
    CHECK(access_list(static_cast<acl>(77)).entries().empty());
}

TEST_CASE("a lock's own is that of its nodes, of its path and of what is missing above; others have the client's")
{
    connected_scene s;
    const auto mine = s.acquire("/deep/a", with_own_list());
    asked(s).to("create /deep/a/" + prefix(1)).has_access(own_text).ends(outcome::no_node);
    asked(s).to("watch /deep/a").ends(outcome::no_node);
    asked(s).to("container /deep/a").has_access(own_text).ends(outcome::no_node);
    asked(s).to("container /deep").has_access(own_text).ends(outcome::unimplemented);
    asked(s).to("persistent /deep").has_access(own_text).ends(outcome::ok);
    asked(s).to("persistent /deep/a").has_access(own_text).ends(outcome::ok);
    asked(s).to("create /deep/a/" + prefix(2)).has_access(own_text).number(42, 0);
    CHECK(mine->ended == error_code());

    const auto others = s.acquire("/b");
    asked(s).to("create /b/" + prefix(3)).has_access("").ends(outcome::no_node).to("container /b").has_access("");
}

TEST_CASE("nodes made together have each its own list; one that is refused concerns those that have it, too")
{
    connected<logged_scene> s;
    const auto first = s.acquire("/x"), second = s.acquire("/y"); // what comes now gathers
    const auto create_x = asked(s).to("create /x/" + prefix(1)).kept();
    const auto mine = s.acquire("/c", with_own_list());
    const auto plain = s.acquire("/c");
    const auto mine_too = s.acquire("/c", with_own_list());
    create_x.number(100, 0);
    s.clock.run();
    const auto batch = asked(s).to_batch_of(3).kept();
    CHECK(batch.writes[0].access == own_text);
    CHECK(batch.writes[1].access.empty());
    CHECK(batch.writes[2].access == own_text);
    batch.fail(0, outcome::invalid_acl);
    s.clock.run();
    CHECK(mine->ended == errc::invalid_option);
    CHECK(mine_too->ended == errc::invalid_option);
    CHECK_FALSE(plain->ended);
    asked(s).to("create /c/" + prefix(4)).has_access("").number(110, 0);
    CHECK(plain->ended == error_code());
    REQUIRE(s.errors.size() == 2);
    CHECK(s.errors[0].starts_with("/c is refused: access is \"" + own_text + "\", and has to be of schemes"));
    CHECK_FALSE(first->ended != error_code());
    CHECK_FALSE(second->ended);
}

TEST_CASE("of a writer that reads on, the reader's node has the lock's list")
{
    connected_scene s;
    const auto writer = s.acquire("/p", with_own_list(), acquire_mode::wait, contender_kind::writer);
    asked(s).to("create /p/" + prefix(1, "__WRIT__")).has_access(own_text).number(42, 0);
    asked(s).to("watch /p").show(one_child(42));
    REQUIRE(writer->ended == error_code());
    REQUIRE(writer->handle->downgrade([](error_code, const recipes::grant&) {}));
    s.clock.run();
    const auto batch = asked(s).to_batch_of(2).kept();
    CHECK(batch.writes[0].what == store::batch_write::kind::create);
    CHECK(batch.writes[0].access == own_text);
}

TEST_CASE("a semaphore's own is that of its line, its permits, its count and all their paths")
{
    semaphore_scene s;
    auto o = permits_of(3);
    o.access = own_list();
    o.count_path = "/counts/s";
    const auto a = s.want(2, o);
    asked(s).to(s.line_up(1)).has_access(own_text).ends(outcome::no_node);
    asked(s).to("watch /s/locks").ends(outcome::no_node);
    asked(s).to("container /s/locks").has_access(own_text).ends(outcome::ok);
    asked(s).to(s.line_up(2)).has_access(own_text).number(50, 0);
    unsigned nodes = 0, paths = 0;
    for (int rounds = 0; rounds < 30 && !s.servers.requests.empty() && (nodes < 2 || paths < 4); ++rounds) {
        const auto r = s.servers.take();
        CAPTURE(r.what);
        for (const auto& w : r.writes)
            if (w.what == store::batch_write::kind::create) {
                CHECK(w.access == own_text);
                ++nodes;
            }
        const bool makes = r.what.starts_with("container ") || r.what.starts_with("persistent ");
        if (makes) {
            CHECK(r.access == own_text);
            ++paths;
        }
        // The first of each is missing, and what is above it.
        const bool first_count = r.what == "persistent /counts/s" && paths < 3;
        r.answer(first_count || !makes ? outcome::no_node : outcome::ok);
        s.clock.run();
    }
    CHECK(nodes >= 2);
    CHECK(paths >= 3);
    CHECK_FALSE(a->ended);
}

// sanitizers: none
// program: told
// Access lists of any kind: of single nodes, read and set; and of locks, with everything that these make.
#include "integration/semaphore_scene.hpp"
#include "integration/shared_scene.hpp"

using namespace zklock::test;

namespace {

// It needs no key store to know the names in a list. Only TLS connections could show one.
const server_starts_with certificates([](server_options& options) {
    options.java.push_back("-Dzookeeper.authProvider.x509="
                           "org.apache.zookeeper.server.auth.X509AuthenticationProvider");
});

// Not in a coroutine: see src/README.md on gcc 12.
access_list list_of(access_entry one)
{
    return {std::move(one)};
}
access_list list_of(access_entry one, access_entry two)
{
    return {std::move(one), std::move(two)};
}
access_list nobody()
{
    return access_list(std::vector<access_entry>());
}
access_entry ann(unsigned allowed = permission::all)
{
    return digest_entry("ann", "secret", allowed);
}
access_entry bob(unsigned allowed = permission::all)
{
    return digest_entry("bob", "secret", allowed);
}

client_options shown(const char* secret, std::string address = server().address())
{
    client_options o = fault_options(std::move(address), long_session);
    if (*secret)
        o.auth.push_back({"digest", secret});
    return o;
}

/// Who may read a node with that entry: ann, who has made it, bob, somebody at 127.0.0.2 and somebody at 127.0.0.1.
struct scheme {
    access_entry entry;
    std::string text; ///< as it is read back
    std::string readers;
};
std::vector<scheme> schemes()
{
    constexpr unsigned r = permission::read;
    return {{{"world", "anyone", r}, "world:anyone:r", "ann bob near far"},
            {{"auth", "", r}, "digest:ann:r", "ann"},
            {{"auth", "whatever it says", r}, "digest:ann:r", "ann"},
            {bob(r), "digest:bob:r", "ann bob"},
            {{"ip", "127.0.0.2", r}, "ip:127.0.0.2:r", "ann near"},
            {{"ip", "127.0.0.0/8", r}, "ip:127.0.0.0/8:r", "ann bob near far"},
            {{"ip", "10.0.0.0/8", r}, "ip:10.0.0.0/8:r", "ann"},
            {{"x509", "CN=ann,O=example", r}, "x509:CN=ann,O=example:r", "ann"}};
}
std::vector<access_list> unknown_lists()
{
    return {list_of({"world", "someone"}), list_of({"no_such_scheme", "x"}), list_of({"ip", "nowhere"}),
            list_of({"digest", "no hash"})};
}

/// A node as somebody sees it who may administrate it: its list, as text.
awaitable<std::string> list_at(client& zk, std::string node)
{
    const node_access found = must(co_await zk.get_acl(node));
    co_return to_string(found.list);
}

/// The node, and what is above it up to that level.
awaitable<void> expect_lists(client& zk, std::string node, std::string top, std::string text)
{
    for (;;) {
        CAPTURE(node);
        const std::string found = co_await list_at(zk, node);
        CHECK(found == text);
        if (node == top)
            co_return;
        node.resize(node.rfind('/'));
        REQUIRE(node.size() >= top.size());
    }
}

} // namespace

TEST_CASE("every scheme: who may read, and how the list is read back")
{
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        proxy other_address(server().port(), "127.0.0.2");
        client first(executor, shown("ann:secret")), second(executor, shown("bob:secret")),
            near(executor, shown("", other_address.address())), far(executor, shown(""));
        for (const scheme& s : schemes()) {
            CAPTURE(s.text);
            const access_list list = list_of(s.entry, ann(permission::admin | permission::read));
            must(co_await first.create("/scheme", "x", node_kind::persistent, list));
            CHECK(co_await list_at(first, "/scheme") == s.text + ", digest:ann:ra");
            std::string readers;
            const std::pair<const char*, client*> all[] = {
                {"ann", &first}, {"bob", &second}, {"near", &near}, {"far", &far}};
            for (const auto& [who, zk] : all) {
                const error_code ec = error_in(co_await zk->get("/scheme"));
                if (!ec)
                    readers += readers.empty() ? who : std::string(" ") + who;
                else
                    CHECK(ec == errc::access_denied);
                CHECK(error_in(co_await zk->get_acl("/scheme")) == ec); // who may read it may see its list
                CHECK(error_in(co_await zk->set("/scheme", "y")) == errc::access_denied);
            }
            CHECK(readers == s.readers);
            must(co_await first.remove("/scheme"));
        }
        for (const access_list& list : unknown_lists()) {
            CAPTURE(to_string(list));
            CHECK(error_in(co_await first.create("/refused", "", node_kind::ephemeral, list)) == errc::invalid_option);
            CHECK(error_in(co_await first.set_acl("/", list)) == errc::invalid_option);
            mutex lock(first, "/refused", with(&mutex_options::access, list));
            CHECK(error_in(co_await lock.acquire(60s)) == errc::invalid_option);
        }
        CHECK_FALSE(must(co_await first.exists("/refused")));
        CHECK(error_in(co_await far.create("/refused", "", node_kind::ephemeral, acl::creator_all)) ==
              errc::invalid_option); // who is that?
        for (client* zk : {&first, &second, &near, &far})
            must(co_await zk->close());
    });
}

TEST_CASE("what is denied, and the lists that are refused: the log names request and node, and tells no password")
{
    std::vector<std::string> told; // the same line is not written twice in a second
    const auto take = [&told](log_level level, std::string_view line) {
        const bool matters = line.find("denied") != line.npos || line.find(" is refused: ") != line.npos;
        if (level <= log_level::warning && matters)
            told.push_back(std::string(to_string(level)).append(line.substr(line.find(": "))));
    };
    const auto expect = [&told](const std::string& start) {
        CAPTURE(start);
        REQUIRE(told.size() == 1);
        CHECK(told.front().starts_with(start));
        CHECK(told.front().find("secret") == std::string::npos);
        told.clear();
    };
    const auto denied = [&](const std::string& what) {
        REQUIRE_FALSE(told.empty());
        CHECK(told.front() == "warning: access denied by the servers: " + what);
        CHECK(told.size() == 1);
        told.clear();
    };
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        client_options watched = shown("bob:secret");
        watched.log = take;
        client first(executor, shown("ann:secret")), second(executor, watched);
        must(co_await first.create("/denied", "x", node_kind::persistent, list_of(ann())));

        CHECK(error_in(co_await second.get("/denied")) == errc::access_denied);
        denied("get /denied");
        CHECK(error_in(co_await second.set("/denied", "y")) == errc::access_denied);
        denied("set /denied");
        CHECK(error_in(co_await second.children("/denied")) == errc::access_denied);
        denied("list the children of /denied");
        CHECK(error_in(co_await second.create("/denied/below", "")) == errc::access_denied);
        denied("create /denied/below");
        CHECK(error_in(co_await second.set_acl("/denied", acl::open)) == errc::access_denied);
        denied("set the access list of /denied");
        CHECK(error_in(co_await second.get_acl("/denied")) == errc::access_denied);
        denied("get the access list of /denied");
        CHECK(error_in(co_await second.wait_children_changed("/denied", node_stat())) == errc::access_denied);
        denied("wait for a change of /denied");
        transaction sets;
        sets.create("/free", "").set("/denied", "y");
        CHECK(error_in(co_await second.commit(sets)) == errc::access_denied);
        denied("set /denied, in a transaction");
        mutex lock(second, "/denied");
        CHECK(error_in(co_await lock.contenders()) == errc::access_denied);
        denied("list contenders at /denied");
        CHECK(error_in(co_await lock.revoke_holders()) == errc::access_denied);
        denied("revoke the holders at /denied");
        CHECK(error_in(co_await lock.acquire(60s)) == errc::access_denied);
        expect("warning: no lock on /denied: ");
        semaphore gate(second, "/denied", 2);
        CHECK(error_in(co_await gate.acquire(60s)) == errc::access_denied);
        REQUIRE_FALSE(told.empty()); // the waiting line is denied first
        CHECK(told.back().starts_with("warning: no permits of /denied: "));
        told.clear();

        const access_list strange = list_of({"world", "someone"});
        CHECK(error_in(co_await second.create("/refused", "", node_kind::ephemeral, strange)) == errc::invalid_option);
        expect("error: /refused is refused: access is \"world:someone:cdrwa\", and has to be of schemes and ids");
        CHECK(error_in(co_await second.set_acl("/", strange)) == errc::invalid_option);
        expect("error: / is refused: access is \"world:someone:cdrwa\"");
        transaction creates;
        creates.check("/").create("/refused_too", "", node_kind::persistent, strange);
        CHECK(error_in(co_await second.commit(creates)) == errc::invalid_option);
        expect("error: /refused_too is refused: access is \"world:someone:cdrwa\"");

        const access_list of_password = list_of({"digest", "bob:secret"});
        const std::string of_digest =
            " is refused: access is an entry of the digest of \"bob\" whose hash cannot be one";
        CHECK(error_in(co_await second.create("/refused", "", node_kind::ephemeral, of_password)) ==
              errc::invalid_option);
        expect("error: /refused" + of_digest);
        CHECK(error_in(co_await second.set_acl("/", of_password)) == errc::invalid_option);
        expect("error: /" + of_digest);
        transaction makes;
        makes.check("/").create("/refused_too", "", node_kind::persistent, of_password);
        CHECK(error_in(co_await second.commit(makes)) == errc::invalid_option);
        expect("error: /refused_too" + of_digest);
        CHECK_FALSE(must(co_await second.exists("/refused")));
        CHECK(told.empty());

        // A hash of servers whose digestAlg is SHA-256.
        must(co_await second.create("/longer", "", node_kind::persistent,
                                    list_of({"digest", "bob:" + std::string(43, 'A') + "="}, bob())));
        must(co_await second.remove("/longer"));
        must(co_await first.remove("/denied"));
        must(co_await first.close());
        must(co_await second.close());
    });
}

TEST_CASE("lists are read with one request and set with one, by whoever may, if their version fits")
{
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        proxy link(server().port());
        client first(executor, shown("ann:secret", link.address())), second(executor, shown("bob:secret"));
        must(co_await first.create("/lists", "x", node_kind::persistent, list_of(ann(), bob(permission::read))));
        const node_stat before = *must(co_await first.exists("/lists"));
        CHECK(before.acl_version == 0);
        co_await until_asked(link, opcode::sync); // the heartbeat of the beginning
        link.forget();
        node_access found = must(co_await first.get_acl("/lists"));
        CHECK(found.list == list_of(ann(), bob(permission::read)));
        CHECK(found.stat.acl_version == 0);
        CHECK(found.stat.czxid == before.czxid);
        must(co_await first.set_acl("/lists", list_of(bob(permission::read), ann()), found.stat.acl_version));
        CHECK(link.count(opcode::get_acl) == 1);
        CHECK(link.count(opcode::set_acl) == 1);
        CHECK(link.count(opcode::any) - link.count(opcode::sync) == 2);

        // To whoever may only read it a hash is not shown.
        found = must(co_await second.get_acl("/lists"));
        CHECK(found.stat.acl_version == 1);
        CHECK(found.stat.version == before.version); // no change of the node
        CHECK(found.stat.mzxid == before.mzxid);
        REQUIRE(found.list.entries().size() == 2);
        CHECK(found.list.entries()[0].id == "bob:x");
        CHECK(found.list.entries()[1].id == "ann:x");
        CHECK(error_in(co_await second.set_acl("/lists", acl::open)) == errc::access_denied);
        CHECK(error_in(co_await first.set_acl("/lists", acl::open, 0)) == errc::bad_version);
        CHECK(error_in(co_await first.get_acl("/none")) == errc::no_node);
        CHECK(error_in(co_await first.set_acl("/none", acl::open)) == errc::no_node);
        CHECK(error_in(co_await first.get_acl("lists")) == errc::invalid_path);
        CHECK(error_in(co_await first.set_acl("lists", acl::open)) == errc::invalid_path);
        link.forget();
        CHECK(error_in(co_await first.set_acl("/lists", nobody())) == errc::invalid_option);
        CHECK(link.count(opcode::set_acl) == 0);

        // The answer is lost: it is not sent again, and is seen by its version.
        link.on_next(opcode::set_acl, moment::reply, fate::cut);
        CHECK(error_in(co_await first.set_acl("/lists", list_of(ann()), 1)) == errc::outcome_unknown);
        found = must(co_await first.get_acl("/lists"));
        CHECK(found.stat.acl_version == 2);
        CHECK(found.list == list_of(ann()));
        CHECK(link.count(opcode::set_acl) == 1);
        link.on_next(opcode::get_acl, moment::reply, fate::cut); // a read is repeated
        CHECK(co_await list_at(first, "/lists") == "digest:ann:cdrwa");
        CHECK(error_in(co_await second.get_acl("/lists")) == errc::access_denied);

        // Of several nodes that are made together, each may have its own.
        transaction t;
        t.create("/lists/open", "").create("/lists/mine", "", node_kind::ephemeral, acl::creator_all_or_read);
        must(co_await first.commit(t));
        CHECK(co_await list_at(second, "/lists/open") == "world:anyone:cdrwa");
        CHECK(co_await list_at(second, "/lists/mine") == "digest:ann:cdrwa, world:anyone:r");
        must(co_await first.set_acl("/lists", acl::open));
        must(co_await second.remove("/lists/open"));
        must(co_await first.remove("/lists/mine"));
        must(co_await second.remove("/lists"));
        must(co_await first.close());
        must(co_await second.close());
    });
}

TEST_CASE("a lock's own list is that of all it makes; clients whom it names share the lock")
{
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        const std::string text = "digest:ann:cdrwa, digest:bob:cdrwa";
        client first(executor, shown("ann:secret")), second(executor, shown("bob:secret")),
            third(executor, shown("carl:secret"));

        const auto own = with(&mutex_options::access, list_of(ann(), bob()));
        mutex mine(first, "/own/deep/mutex", own), hers(second, "/own/deep/mutex", own);
        guard held = must(co_await mine.acquire(60s));
        co_await expect_lists(second, held.node(), "/own", text);
        auto waits = begin_acquire(hers);
        admin_client admin(server().port());
        admin.authenticate("digest", "ann:secret");
        co_await until_queued(admin, "/own/deep/mutex", 2);
        co_await release(std::move(held));
        held = co_await granted(waits);
        co_await expect_lists(first, held.node(), "/own", text);
        co_await release(std::move(held));
        mutex kept_out(third, "/own/deep/mutex", own), kept_out_above(third, "/own/other");
        CHECK(error_in(co_await kept_out.acquire(60s)) == errc::access_denied);
        CHECK(error_in(co_await kept_out_above.acquire(60s)) == errc::access_denied);

        shared_mutex both(first, "/own_shared", with(&shared_mutex_options::access, own.access));
        held = must(co_await both.shared().acquire(60s));
        co_await expect_lists(second, held.node(), "/own_shared", text);
        co_await release(std::move(held));
        held = must(co_await both.acquire(60s));
        co_await expect_lists(second, held.node(), "/own_shared", text);
        guard reads = must(co_await both.downgrade(std::move(held)));
        co_await expect_lists(second, reads.node(), "/own_shared", text);
        co_await release(std::move(reads));

        semaphore_options gate;
        gate.permits = 3;
        gate.access = own.access;
        gate.count_path = "/own_counts/deep/gate";
        semaphore permits_of_both(first, "/own_gate", gate);
        permits two = must(co_await permits_of_both.permits_of(2).acquire(60s));
        co_await expect_lists(second, two.node(), "/own_gate", text);
        const std::vector<contender> nodes = must(co_await permits_of_both.holders());
        CHECK(nodes.size() == 2);
        for (const contender& each : nodes)
            CHECK(co_await list_at(second, each.node) == text);
        co_await expect_lists(second, gate.count_path, "/own_counts", text);
        co_await expect_lists(second, "/own_gate/locks", "/own_gate", text);
        co_await release(std::move(two));

        // What has no list of its own has the client's.
        mutex open(first, "/plain");
        held = must(co_await open.acquire(60s));
        co_await expect_lists(third, held.node(), "/plain", "world:anyone:cdrwa");
        co_await release(std::move(held));
        for (client* zk : {&first, &second, &third})
            must(co_await zk->close());
        for (const char* top : {"/own", "/own_shared", "/own_gate", "/own_counts", "/plain"})
            admin.remove_all(top);
    });
}

// sanitizers: address
// program: sasl
// DIGEST-MD5 with real servers: whose passwords they take, what happens where they refuse, and what is cut.
#include "integration/sasl_scene.hpp"

using namespace zklock;
using namespace zklock::test;

namespace {

const std::map<std::string, std::string> digest_users{
    {"bob", "bobsecret"}, {"alice", "pässwört"}, {"carol", "пароль"}, {"jürgen", "x"}, {"борис", "y"}};
const auto digest_server = knowing(digest_users);

const std::string lets_in = "the server has no SASL, or lets in whom it refuses";

} // namespace

TEST_CASE("DIGEST-MD5: each user is known, whatever letters name and password have")
{
    for (const auto& [user, password] : digest_users) {
        CAPTURE(user);
        CHECK(identity_of(as_user(user, password), "/sasl-user").find("sasl:" + user) != std::string::npos);
    }
    expect_clean(server());
}

TEST_CASE("DIGEST-MD5: who has a wrong password, or no such name, is refused, and told so")
{
    for (const auto& [user, password] : {std::pair("bob", "pässwört"), std::pair("alice", "passwort"),
                                         std::pair("nobody", "x")}) {
        CAPTURE(user);
        bridge_client c(as_user(user, password));
        c.run_until([&] { return c.refusals != 0; });
        CHECK(c.connections == 0);
        CHECK(said_in_log(c, "the server does not know the user, or the password is wrong (error -115)"));
        c.close();
    }
}

TEST_CASE("DIGEST-MD5: both identities of a client count, and access lists of the scheme sasl hold")
{
    auto both = as_user("bob", "bobsecret");
    both.auth.push_back({"digest", "guest:guest"});
    const auto list = identity_of(both, "/sasl-both");
    CHECK(list.find("sasl:bob") != std::string::npos);
    CHECK(list.find("digest:guest:") != std::string::npos);

    bridge_client bob(as_user("bob", "bobsecret")), alice(as_user("alice", "pässwört"));
    bob.wait_connected();
    alice.wait_connected();
    const access_list for_alice{access_entry("sasl", "bob"), access_entry("sasl", "alice", permission::read)};
    REQUIRE(bob.create("/sasl-shared", node_kind::ephemeral, "x", &for_alice).result == outcome::ok);
    CHECK(alice.get("/sasl-shared").data == "x");
    CHECK(alice.set("/sasl-shared", "y").result == outcome::no_auth);
    CHECK(bob.set("/sasl-shared", "z").result == outcome::ok);
    alice.close();
    bob.close();
    expect_clean(server());
}

TEST_CASE("DIGEST-MD5: cut at every step of the exchange, the next attempt comes about")
{
    cut_each_step(as_user("bob", "bobsecret"), 2, "/sasl/cut-digest");
}

TEST_CASE("DIGEST-MD5: a server that wants an identity gets it before anything else")
{
    const sasl_servers wanting(digest_users);
    server_options options = wanting.options();
    enforce_sasl(options);
    zookeeper_server strict(options);
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        proxy link(strict.port());
        client zk(executor, as_user("bob", "bobsecret", link.address()));
        mutex lock(zk, "/sasl/enforced");
        critical_section section;
        co_await visit(lock, section);
        co_await reconnect(zk, link);
        co_await visit(lock, section);
        CHECK(zk.metrics().expiries == 0);
        must(co_await zk.close());
        CHECK(link.sessions().size() == 1);
    };
    run_test(test_limit, body);
    expect_no_identity(as_user("bob", "wrong", strict.address()), "the user, or the password is wrong (error -1");
}

TEST_CASE("DIGEST-MD5: nobody is taken for known by a server that lets everybody in, or has no SASL")
{
    server_options lenient;
    SUBCASE("lets in")
    {
        const sasl_servers known(digest_users);
        known.add_to(lenient);
        lenient.java.push_back("-Dzookeeper.allowSaslFailedClients=true");
        zookeeper_server all(lenient);
        expect_no_identity(as_user("bob", "wrong", all.address()), lets_in);
        CHECK(identity_of(as_user("bob", "bobsecret", all.address()), "/sasl-known").find("sasl:bob") !=
              std::string::npos);
    }
    SUBCASE("has none")
    {
        zookeeper_server plain(lenient);
        expect_no_identity(as_user("bob", "bobsecret", plain.address()), lets_in);
    }
}

TEST_CASE("DIGEST-MD5: an exchange that takes two thirds of what the server grants is given up")
{
    const sasl_servers known(digest_users);
    server_options hasty = known.options();
    hasty.max_session_timeout = 3s;
    zookeeper_server granting(hasty);
    proxy link(granting.port());
    link.delay(direction::replies, 900ms); // three of them come before the client may ask anything
    bridge_client c(as_user("bob", "bobsecret", link.address()));
    c.run_until([&] { return link.accepted() >= 3; });
    CHECK(c.connections == 0);
    link.delay(direction::replies, 0ms);
    c.wait_connected();
    CHECK(c.expiries == 0);
    c.close();
    expect_clean(granting);
}

TEST_CASE("DIGEST-MD5: clients on several threads, with connections that are cut")
{
    const auto body = [&]() -> awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        std::vector<awaitable<void>> parts;
        for (int i = 0; i < 4; ++i)
            parts.push_back([](asio::any_io_executor executor) -> awaitable<void> {
                proxy link(server().port());
                client zk(executor, as_user("bob", "bobsecret", link.address()));
                mutex lock(zk, "/sasl/threads");
                for (int round = 0; round < 5; ++round) {
                    guard held = must(co_await lock.acquire(default_limit));
                    co_await reconnect(zk, link);
                    must(co_await std::move(held).release());
                }
                CHECK(zk.metrics().expiries == 0);
                must(co_await zk.close());
            }(executor));
        co_await together(std::move(parts), test_limit);
    };
    run_test_on_threads(4, test_limit, body);
    expect_clean(server(), {"/sasl/threads"});
}

// sanitizers: address
// program: tls
// DIGEST-MD5 with real servers: whose passwords they take, what the gate holds back and when it leaves, what happens
// where they refuse, and what is cut.
#include "integration/sasl_scene.hpp"

#include <sys/socket.h>

using namespace zklock::test;

namespace {

const std::map<std::string, std::string> digest_users{
    {"bob", "bobsecret"}, {"alice", "pässwört"}, {"carol", "пароль"}, {"jürgen", "x"}, {"борис", "y"}};
const auto digest_server = knowing(digest_users);

const std::string lets_in = "the server has no SASL, or lets in whom it refuses";

/// It lets in whom it does not know, and grants no more than three seconds.
zookeeper_server& lenient_server()
{
    static const sasl_servers known(digest_users);
    static zookeeper_server one([] {
        server_options options = known.options();
        options.java.push_back("-Dzookeeper.allowSaslFailedClients=true");
        options.max_session_timeout = 3s;
        return options;
    }());
    return one;
}

/// How many sockets of that family the process has open.
std::ptrdiff_t sockets(int family)
{
    std::ptrdiff_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        int found = 0;
        socklen_t size = sizeof found;
        const int fd = std::stoi(each.path().filename().string());
        count += ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &found, &size) == 0 && found == family;
    }
    return count;
}

} // namespace

TEST_CASE("DIGEST-MD5: the identity stands before anything is asked, and the gate leaves: nothing is copied any more")
{
    const auto options = as_user("bob", "bobsecret"); // the server's own are there now
    const auto pairs = sockets(AF_UNIX);
    connected_bridge_client c(options);
    CHECK(c.said("have identified themselves to each other by DIGEST-MD5") != 0);
    const access_list own = acl::creator_all;
    CHECK(c.create("/gate-leaves", node_kind::ephemeral, "x", &own).result == outcome::ok);
    CHECK(c.get_acl("/gate-leaves").list.find("sasl:bob") != std::string::npos);
    CHECK(sockets(AF_UNIX) == pairs);
    for (int i = 0; i < 20; ++i)
        CHECK(c.set("/gate-leaves", std::string(50'000, 'x')).result == outcome::ok);
    CHECK(c.get("/gate-leaves").data.size() == 50'000);
    close_clean(c);
}

TEST_CASE("DIGEST-MD5: with TLS the relay stays, and a session goes on over new connections, each with its identity")
{
    for (const bool tls : {false, true}) {
        CAPTURE(tls);
        proxy between(tls ? server().secure_port() : server().port(), std::nullopt,
                      tls ? speech::tls : speech::zookeeper);
        auto options = as_user("alice", "pässwört", between.address());
        if (tls)
            options.tls = trusting();
        const auto pairs = sockets(AF_UNIX);
        connected_bridge_client c(options);
        const auto session = c.session;
        CHECK(c.create("/kept", node_kind::ephemeral, "x").result == outcome::ok);
        CHECK(sockets(AF_UNIX) - pairs == (tls ? 2 : 0));
        between.cut();
        c.wait_connected(2);
        CHECK(c.session == session);
        CHECK(c.get("/kept").data == "x");
        CHECK(c.expiries == 0);
        c.close();
        CHECK(sockets(AF_UNIX) == pairs);
    }
    expect_clean(server());
}

TEST_CASE("DIGEST-MD5: a session that is over is told as ever, and a new one identifies itself")
{
    proxy between(server().port());
    connected_bridge_client c(as_user("bob", "bobsecret", between.address()));
    between.expire_session();
    c.wait_connected(2);
    CHECK(c.expiries == 1);
    CHECK(c.was_renewed);
    c.close();
}

TEST_CASE("DIGEST-MD5: each user is known, whatever letters name and password have")
{
    for (const auto& [user, password] : digest_users) {
        CAPTURE(user);
        CHECK(identity_of(as_user(user, password), "/sasl-user").find("sasl:" + user) != std::string::npos);
    }
    expect_clean(server());
}

TEST_CASE("DIGEST-MD5: who has a wrong password, or no such name, is refused, and told so; no log has the password")
{
    (void)server();
    const auto pairs = sockets(AF_UNIX), connections = sockets(AF_INET);
    for (const auto& [user, password] :
         {std::pair("bob", "pässwört"), std::pair("alice", "passwort"), std::pair("nobody", "wrong-password")}) {
        CAPTURE(user);
        bridge_client c(as_user(user, password));
        c.run_until([&] { return c.refusals != 0; });
        CHECK(c.connections == 0);
        CHECK(c.said(" refuses this client: the server does not know the user, or the password is wrong "
                     "(error -115)") != 0);
        CHECK(c.said(password) == 0);
        CHECK(c.said("DIGEST-MD5 without TLS") != 0);
        const auto failures = c.store().failures();
        REQUIRE(failures.size() == 1);
        CHECK(failures.begin()->second.find("refuses this client") != std::string::npos);
        c.close();
    }
    CHECK(sockets(AF_UNIX) == pairs);
    CHECK(sockets(AF_INET) == connections);
}

TEST_CASE("DIGEST-MD5: both identities of a client count, and access lists of the scheme sasl hold")
{
    auto both = as_user("bob", "bobsecret");
    both.auth.push_back({"digest", "guest:guest"});
    const auto list = identity_of(both, "/sasl-both");
    CHECK(list.find("sasl:bob") != std::string::npos);
    CHECK(list.find("digest:guest:") != std::string::npos);

    connected_bridge_client bob(as_user("bob", "bobsecret")), alice(as_user("alice", "pässwört"));
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
    SUBCASE("of the scheme sasl")
        enforce_sasl(options);
    SUBCASE("by SASL")
        options.java.push_back("-Dzookeeper.sessionRequireClientSASLAuth=true");
    zookeeper_server strict(options);
    visit_strict(strict, as_user("bob", "bobsecret"), "/sasl/enforced");
    expect_no_identity(as_user("bob", "wrong", strict.address()), "the user, or the password is wrong (error -1");
}

TEST_CASE("DIGEST-MD5: three servers, whose leader is lost: the session goes on with another")
{
    const sasl_servers known(digest_users);
    lose_leader_of_three(known, as_user("bob", "bobsecret"), "/sasl/three");
}

TEST_CASE("DIGEST-MD5: it costs two round trips, and ten thousand waiters go on in their order over a new connection")
{
    const std::size_t many = scaled(10'000);
    const std::string path = "/sasl/many";
    std::vector<std::size_t> order;
    std::size_t ended = 0;
    const auto body = [&]() -> awaitable<void> {
        proxy link(server().port());
        client zk(co_await asio::this_coro::executor, as_user("bob", "bobsecret", link.address()));
        mutex lock(zk, path);
        guard first = must(co_await lock.acquire(default_limit));
        CHECK(link.count(opcode::sasl) == 2);
        for (std::size_t i = 0; i < many; ++i)
            lock.acquire([&, i](error_code ec, guard held) {
                if (!ec)
                    order.push_back(i);
                std::move(held).release([&](error_code) { ++ended; });
            });
        co_await until("many have their nodes", [&] { return ephemeral_count(server().port()) > many / 4; });
        co_await reconnect(zk, link);
        CHECK(link.count(opcode::sasl) == 4);
        CHECK(first);
        CHECK(order.empty());
        co_await release(std::move(first));
        co_await until(
            "all have had the lock", [&] { return ended == many; }, test_limit);
        CHECK(zk.metrics().expiries == 0);
        CHECK(link.sessions().size() == 1);
        must(co_await zk.close());
    };
    run_test(test_limit, body);
    REQUIRE(order.size() == many);
    CHECK(std::ranges::is_sorted(order));
    expect_clean(server(), {path});
}

TEST_CASE("DIGEST-MD5: nobody is taken for known by a server that lets everybody in, or has no SASL")
{
    zookeeper_server& all = lenient_server();
    expect_no_identity(as_user("bob", "wrong", all.address()), lets_in);
    CHECK(identity_of(as_user("bob", "bobsecret", all.address()), "/sasl-known").find("sasl:bob") != std::string::npos);
    zookeeper_server plain;
    expect_no_identity(as_user("bob", "bobsecret", plain.address()), lets_in);
}

TEST_CASE("DIGEST-MD5: a new session in which the exchange fails stays on its server, so there are pauses between them")
{
    zookeeper_server plain;
    proxy link(plain.port());
    client_options options = as_user("bob", "bobsecret", link.address());
    options.connect_backoff = 100ms;
    options.connect_backoff_limit = 800ms;
    const auto began = steady_clock::now();
    bridge_client c(options);
    c.run_until([&] { return link.accepted() >= 6; });
    // All pauses but the first have two thirds of their length, which is 200, 400, 800 and 800 ms, at the least.
    CHECK(steady_clock::now() - began >= 1'400ms);
    CHECK(link.sessions().size() >= 5);
    CHECK(c.connections == 0);
    CHECK(c.refusals == 0);
    c.close();
}

TEST_CASE("DIGEST-MD5: an exchange that takes two thirds of what the server grants is given up")
{
    proxy link(lenient_server().port());
    link.delay(direction::replies, 900ms); // three of them come before the client may ask anything
    bridge_client c(as_user("bob", "bobsecret", link.address()));
    c.run_until([&] { return link.accepted() >= 3; });
    CHECK(c.connections == 0);
    link.delay(direction::replies, 0ms);
    c.wait_connected();
    CHECK(c.expiries == 0);
    c.close();
    expect_clean(lenient_server());
}

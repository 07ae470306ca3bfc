// sanitizers: address
// program: kerberos
// Kerberos with real servers and a real KDC: sessions go on over new connections, tickets and keys are renewed, and
// servers that speak something else are told apart.
#include "integration/sasl_scene.hpp"

using namespace zklock::test;

namespace {

const auto kerberos_server = knowing_by_kerberos();

/// A file that others are copied over.
class renewed_file {
public:
    explicit renewed_file(const std::string& first) { renew(first); }
    void renew(const std::string& by) const
    {
        std::filesystem::copy_file(by, next_, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::rename(next_, place_);
    }
    [[nodiscard]] std::string name() const { return place_.string(); }

private:
    temporary_directory here_;
    const std::filesystem::path place_ = here_.path() / "file", next_ = here_.path() / "next";
};

} // namespace

TEST_SUITE_BEGIN("kerberos" * needs_kdc());

TEST_CASE("Kerberos: the session and its lock go on over a new connection, which proves the identity anew")
{
    const auto keytab = usual_realm().keytab("alice");
    play<0>({.clean = {"/kerberos/kept"}}, [&]() -> awaitable<void> {
        proxy link(server().port());
        client zk(co_await asio::this_coro::executor, by_keytab(keytab, at_localhost(link.port())));
        mutex lock(zk, "/kerberos/kept");
        guard held = must(co_await lock.acquire(default_limit));
        const auto steps = link.count(opcode::sasl);
        CHECK(steps == 3);
        co_await reconnect(zk, link);
        CHECK(lock.is_held());
        CHECK(link.count(opcode::sasl) == 2 * steps);
        must(co_await std::move(held).release());
        CHECK(zk.metrics().expiries == 0);
        CHECK(link.sessions().size() == 1);
        must(co_await zk.close());
    });
}

TEST_CASE("Kerberos: cut at every step of the exchange, the next attempt comes about")
{
    cut_each_step(by_keytab(usual_realm().keytab("alice")), 3, "/kerberos/cut");
}

TEST_CASE("Kerberos: three servers, whose leader is lost: the session goes on with another")
{
    const sasl_servers known(usual_realm());
    lose_leader_of_three(known, by_keytab(usual_realm().keytab("alice")), "/kerberos/three");
}

TEST_CASE("Kerberos: a server that wants an identity gets it before anything else")
{
    const sasl_servers known(usual_realm());
    server_options options = known.options();
    SUBCASE("of the scheme sasl")
        enforce_sasl(options);
    SUBCASE("by SASL")
        options.java.push_back("-Dzookeeper.sessionRequireClientSASLAuth=true");
    zookeeper_server strict(options);
    visit_strict(strict, by_keytab(usual_realm().keytab("alice")), "/kerberos/enforced");
}

TEST_CASE("Kerberos: a keytab is enough; the nodes are the principal's")
{
    connected_bridge_client c(by_keytab(usual_realm().keytab("alice")));
    const access_list own = acl::creator_all;
    CHECK(c.create("/of-alice", node_kind::ephemeral, "x", &own).result == outcome::ok);
    CHECK(c.get_acl("/of-alice").list.find("sasl:alice") != std::string::npos);
    CHECK(c.said("have identified themselves to each other by Kerberos") != 0);
    close_clean(c);
}

TEST_CASE("Kerberos: a service that the KDC does not know by one name is tried by the next, before anything is dialed")
{
    const auto port = std::to_string(server().port());
    const auto options = by_keytab(usual_realm().keytab("alice"), "127.0.0.1:" + port + ",localhost:" + port);
    for (int i = 0; i < 4; ++i) { // whichever is the first
        connected_bridge_client c(options);
        c.close();
    }
}

TEST_CASE("Kerberos: what it says is told in its own words")
{
    auto options = by_keytab(usual_realm().keytab("alice"));
    options.sasl.server_principal = "zookeeper/elsewhere@ZK.TEST";
    bridge_client c(options);
    c.run_until([&] { return c.said("no SASL with ") != 0; });
    CHECK_MESSAGE(c.said("zookeeper/elsewhere@ZK.TEST not found in Kerberos database") != 0, c.last_log());
    CHECK(c.store().failures().size() == 1);
    CHECK(c.refusals == 0);
    c.close();
}

TEST_CASE("Kerberos: an open session goes on when its ticket ends; the next connection takes a renewed one")
{
    const renewed_file tickets(usual_realm().tickets("alice", "4s"));
    proxy link(server().port());
    connected_bridge_client c(by_tickets(tickets.name(), at_localhost(link.port())));
    CHECK(c.create("/ticket-ends", node_kind::ephemeral, "x").result == outcome::ok);
    c.run_until([&] { // and is used meanwhile
        CHECK(c.get("/ticket-ends").data == "x");
        return !usual_realm().is_valid(tickets.name());
    });
    CHECK(c.get("/ticket-ends").data == "x");
    CHECK(c.disconnections == 0);
    link.cut();
    c.run_until([&] { return c.said("expired") != 0; });
    CHECK(c.refusals == 0);
    tickets.renew(usual_realm().tickets("alice"));
    c.wait_connected(2);
    CHECK(c.get("/ticket-ends").data == "x");
    CHECK(c.expiries == 0);
    close_clean(c);
}

TEST_CASE("Kerberos: a keytab that is renewed is taken up at the next connection")
{
    const renewed_file keys(usual_realm().keytab("frank"));
    proxy link(server().port());
    connected_bridge_client c(by_keytab(keys.name(), at_localhost(link.port())));
    const access_list own = acl::creator_all;
    CHECK(c.create("/frank", node_kind::ephemeral, "x", &own).result == outcome::ok);
    usual_realm().change_key("frank");
    keys.renew(usual_realm().keytab("frank"));
    link.cut();
    c.wait_connected(2);
    CHECK(c.set("/frank", "y").result == outcome::ok); // still the same identity
    CHECK(c.expiries == 0);
    close_clean(c);
}

TEST_CASE("Kerberos: a server that speaks another mechanism, or none, is told apart")
{
    const auto keytab = usual_realm().keytab("alice");
    expect_no_identity(as_user("bob", "bobsecret"), "the server has no DIGEST-MD5: it speaks GSSAPI (Kerberos)");
    const sasl_servers users(std::map<std::string, std::string>{{"bob", "bobsecret"}});
    zookeeper_server digest(users.options());
    expect_no_identity(by_keytab(keytab, at_localhost(digest.port())),
                       "the server has no GSSAPI: it speaks DIGEST-MD5");
    zookeeper_server plain;
    expect_no_identity(by_keytab(keytab, at_localhost(plain.port())),
                       "the server has no SASL, or lets in whom it refuses");
}

TEST_CASE("Kerberos: a server whose key is another than the KDC's refuses the ticket, until that is mended")
{
    const std::string principal = "zookeeper/outdated";
    const sasl_servers outdated(usual_realm(), principal);
    zookeeper_server old(outdated.options());
    server_options lets_in = outdated.options();
    lets_in.java.push_back("-Dzookeeper.allowSaslFailedClients=true");
    zookeeper_server lenient(lets_in);
    usual_realm().change_key(principal);
    auto options = by_keytab(usual_realm().keytab("alice"), at_localhost(old.port()));
    options.sasl.server_principal = principal;
    bridge_client c(options);
    const std::string words = "the server does not accept the Kerberos ticket for zookeeper/outdated: ";
    c.run_until([&] { return c.said(words) != 0 || c.refusals != 0; }); // as of a server whose clock is wrong
    CHECK(c.said("another key than the ticket is for; the next attempt gets a new one (error -115)") != 0);
    CHECK(c.connections == 0);
    auto let_in = options;
    let_in.servers = at_localhost(lenient.port()); // it refuses it, too, but does not say so
    expect_no_identity(let_in, "the server has no SASL, or lets in whom it refuses");
    old.kill();
    outdated.set_key(usual_realm(), principal);
    old.start();
    c.run_until([&] { return c.connections != 0 || c.refusals != 0; });
    CHECK(c.refusals == 0);
    c.close();
}

TEST_CASE("Kerberos and TLS: with a certificate the client is both, and a session goes on over new connections")
{
    auto own = by_keytab(usual_realm().keytab("alice"), at_localhost(server().secure_port()));
    own.tls = showing(usual_authority().certify(with(&certificate_wish::common_name, "shop")));
    const auto list = identity_of(own, "/kerberos-tls");
    CHECK(list.find("sasl:alice") != std::string::npos);
    CHECK(list.find("x509:CN=shop") != std::string::npos);

    proxy link(server().secure_port(), std::nullopt, speech::tls);
    own.servers = at_localhost(link.port());
    connected_bridge_client c(own);
    const auto session = c.session;
    link.cut();
    c.wait_connected(2);
    CHECK(c.session == session);
    close_clean(c);
}

TEST_SUITE_END();

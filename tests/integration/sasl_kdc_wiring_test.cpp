// sanitizers: address
// program: kerberos
// A client that identifies itself by Kerberos, while its KDC answers, and while it does not.
#include "integration/sasl_scene.hpp"
#include "integration/bridge_client.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::test;

namespace {

kerberos_realm& realm() { return usual_realm(); } // a process has one: its environment says which

const auto kerberos = knowing_by_kerberos();

client_options with_keytab(const std::string& keytab, const std::string& host = "localhost")
{
    auto options = options_for(host + ':' + std::to_string(server().port()));
    options.sasl.mechanism = sasl_mechanism::gssapi;
    options.sasl.keytab = keytab;
    return options;
}

bool has_line(const bridge_client& c, const std::string& part)
{
    return std::ranges::any_of(c.log, [&](const auto& line) { return line.find(part) != line.npos; });
}

bool waits_for_kdc(bridge_client& c)
{
    return std::ranges::any_of(c.store().failures(),
                               [](const auto& each) { return each.second.find("(KDC) has answered") != std::string::npos; });
}

} // namespace

TEST_SUITE_BEGIN("kerberos" * needs_kdc());

TEST_CASE("a keytab is enough; the nodes are the principal's")
{
    bridge_client c(with_keytab(realm().keytab("alice")));
    c.wait_connected();
    const access_list own = acl::creator_all;
    CHECK(c.create("/of-alice", node_kind::ephemeral, "x", &own).result == outcome::ok);
    CHECK(c.get_acl("/of-alice").list.find("sasl:alice") != std::string::npos);
    CHECK(has_line(c, "have identified themselves to each other by Kerberos"));
    c.close();
    expect_clean(server());
}

TEST_CASE("a service that the KDC does not know by one name is tried by the next, before anything is dialed")
{
    auto options = with_keytab(realm().keytab("alice"), "127.0.0.1");
    options.servers += ",localhost:" + std::to_string(server().port());
    for (int i = 0; i < 4; ++i) { // whichever is the first
        bridge_client c(options);
        c.wait_connected();
        c.close();
    }
}

TEST_CASE("a KDC that does not answer holds up nothing but connecting, and is asked by no second call of the client")
{
    const auto options = with_keytab(realm().keytab("bob"));
    realm().pause();
    std::optional<bridge_client> c;
    c.emplace(options);
    c->run_until([&] { return waits_for_kdc(*c); });
    {
        bool fired = false;
        asio::steady_timer timer(c->context(), std::chrono::milliseconds(1));
        timer.async_wait([&](const error_code&) { fired = true; });
        c->run_until([&] { return fired; });
    }
    c->run_until([&] { return has_line(*c, "was not dialed: no Kerberos server (KDC) has answered in time"); });
    SUBCASE("it comes back")
    {
        realm().resume();
        c->wait_connected();
        c->close();
    }
    SUBCASE("the context ends")
    {
        const auto began = steady_clock::now();
        c.reset();
        CHECK(steady_clock::now() - began < std::chrono::seconds(5)); // and not 27
        realm().resume();
    }
}

TEST_CASE("what Kerberos says is told in its own words")
{
    auto options = with_keytab(realm().keytab("alice"));
    options.sasl.server_principal = "zookeeper/elsewhere@ZK.TEST";
    bridge_client c(options);
    c.run_until([&] { return has_line(c, "no SASL with "); });
    CHECK_MESSAGE(has_line(c, "zookeeper/elsewhere@ZK.TEST not found in Kerberos database"), c.last_log());
    CHECK(c.store().failures().size() == 1);
    CHECK(c.refusals == 0);
    c.close();
}

TEST_SUITE_END();

// sanitizers: address
// program: sasl
// How connections identify the client by DIGEST-MD5: what the gate holds back, when it leaves, and what is told when the
// server refuses.
#include "integration/bridge_client.hpp"
#include "support/certificate_authority.hpp"
#include "support/expect_clean.hpp"
#include "support/one_server.hpp"
#include "support/proxy.hpp"
#include "support/temporary_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/socket.h>

using namespace zklock;
using namespace zklock::test;

namespace {

const temporary_directory& folder()
{
    static const temporary_directory made;
    return made;
}

std::string login_file()
{
    const std::string file = (folder().path() / "jaas.conf").string();
    std::ofstream(file) << "Server { org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                           "user_bob=\"bobsecret\" user_alice=\"alicesecret\"; };\n";
    return file;
}

const server_starts_with digest_md5([](server_options& options) {
    options.config.push_back("authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider");
    options.java.push_back("-Djava.security.auth.login.config=" + login_file());
    options.secure.emplace();
});

client_options as(const std::string& user, const std::string& password, const std::string& servers = server().address())
{
    auto options = options_for(servers);
    options.sasl.mechanism = sasl_mechanism::digest_md5;
    options.sasl.user = user;
    options.sasl.password = password;
    return options;
}

client_options with_tls(client_options options)
{
    options.servers = server().secure_address();
    options.tls.enabled = true;
    options.tls.ca_file = usual_authority().file();
    return options;
}

bool has_line(const bridge_client& c, const std::string& part)
{
    return std::ranges::any_of(c.log, [&](const auto& line) { return line.find(part) != line.npos; });
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

TEST_CASE("the identity stands before anything is asked, and the gate leaves: nothing is copied any more")
{
    const auto options = as("bob", "bobsecret"); // the server's own are there now
    const auto pairs = sockets(AF_UNIX);
    bridge_client c(options);
    c.wait_connected();
    CHECK(has_line(c, "have identified themselves to each other by DIGEST-MD5"));
    const access_list own = acl::creator_all;
    CHECK(c.create("/gate-leaves", node_kind::ephemeral, "x", &own).result == outcome::ok);
    CHECK(c.get_acl("/gate-leaves").list.find("sasl:bob") != std::string::npos);
    CHECK(sockets(AF_UNIX) == pairs);
    for (int i = 0; i < 20; ++i)
        CHECK(c.set("/gate-leaves", std::string(50'000, 'x')).result == outcome::ok);
    CHECK(c.get("/gate-leaves").data.size() == 50'000);
    c.close();
    expect_clean(server());
}

TEST_CASE("with TLS the relay stays, and a session goes on over new connections, each with its identity")
{
    for (const bool tls : {false, true}) {
        CAPTURE(tls);
        proxy between(tls ? server().secure_port() : server().port(), std::nullopt,
                      tls ? speech::tls : speech::zookeeper);
        auto options = as("alice", "alicesecret");
        if (tls)
            options = with_tls(options);
        options.servers = between.address();
        const auto pairs = sockets(AF_UNIX);
        bridge_client c(options);
        c.wait_connected();
        const auto session = c.session;
        CHECK(c.create("/kept", node_kind::ephemeral, "x").result == outcome::ok);
        CHECK(sockets(AF_UNIX) - pairs == (tls ? 2 : 0));
        between.cut();
        c.wait_connected(2);
        CHECK(c.session == session);
        CHECK(c.get("/kept").data == "x");
        CHECK(c.expiries == 0);
        c.close();
    }
    expect_clean(server());
}

TEST_CASE("a wrong password is final, and the log has neither it nor the right one")
{
    bridge_client c(as("bob", "wrong-password"));
    c.run_until([&] { return c.refusals != 0; });
    CHECK(c.connections == 0);
    CHECK(has_line(c, " refuses this client: "));
    CHECK_FALSE(has_line(c, "wrong-password"));
    CHECK(has_line(c, "DIGEST-MD5 without TLS"));
    const auto failures = c.store().failures();
    REQUIRE(failures.size() == 1);
    CHECK(failures.begin()->second.find("refuses this client") != std::string::npos);
    c.close();
}

TEST_CASE("a session that is over is told as ever, and a new one identifies itself")
{
    proxy between(server().port());
    bridge_client c(as("bob", "bobsecret", between.address()));
    c.wait_connected();
    between.expire_session();
    c.wait_connected(2);
    CHECK(c.expiries == 1);
    CHECK(c.was_renewed);
    c.close();
}

// Curator, kazoo and ours on a path that is theirs alone: all are the same to the servers, by DIGEST-MD5 or by
// Kerberos.
#include "interoperation/contention.hpp"
#include "support/sasl_servers.hpp"
#include "support/skip.hpp"

#include <cstdlib>
#include <fstream>

using namespace zklock::test;

namespace {

/// As long as it lives, the environment has that.
class environment_entry {
public:
    environment_entry(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
    ~environment_entry() { ::unsetenv(name_); }
    environment_entry(const environment_entry&) = delete;
    environment_entry& operator=(const environment_entry&) = delete;

private:
    const char* const name_;
};

/// Three peers with that identity take turns, and nobody else may look at their nodes.
void take_turns(zookeeper_server& visited, const std::string& identity, const std::string& java)
{
    const environment_entry sasl("ZKLOCK_PEER_SASL", identity), options("JAVA_TOOL_OPTIONS", java);
    const std::string servers = "localhost:" + std::to_string(visited.port());
    peer_scene scene;
    peer curator(scene, maker::curator, "curator", servers), kazoo(scene, maker::kazoo, "kazoo", servers),
        ours(scene, maker::zklock, "zklock", servers);
    const std::vector<rival> all{{&curator, "mutex"}, {&ours, "mutex"}, {&kazoo, "curator"}};
    for (const rival& each : all)
        each.who->wait_ready();
    for (const rival& each : all)
        each.acquire("turns", "/sasl-peers", "times=20 hold=1");
    for (const rival& each : all)
        each.who->wait_for("turns", "done");
    for (const rival& each : all) {
        CHECK(each.who->count("turns", "granted") == 20);
        each.who->quit();
    }
    expect_sound(scene.noted);
    admin_client stranger(visited.port());
    CHECK_THROWS((void)stranger.children("/sasl-peers"));
}

void write_login(const std::string& file, const std::string& module)
{
    std::ofstream(file) << "Client {\n  " << module << ";\n};\n";
}

} // namespace

TEST_CASE("DIGEST-MD5: Curator, kazoo and ours, with one user's name, share a path that is that user's")
{
    const temporary_directory directory;
    const auto login = (directory.path() / "login").string();
    write_login(login, "org.apache.zookeeper.server.auth.DigestLoginModule required "
                       "username=\"bob\" password=\"bobsecret\"");
    const sasl_servers known(std::map<std::string, std::string>{{"bob", "bobsecret"}});
    zookeeper_server visited(known.options());
    take_turns(visited, "DIGEST-MD5 bob bobsecret", "-Djava.security.auth.login.config=" + login);
}

TEST_CASE("Kerberos: Curator, kazoo and ours, as one principal, share a path that is that principal's")
{
    if (!kerberos_realm::installed()) {
        skip("no KDC is installed");
        return;
    }
    kerberos_realm realm;
    const auto keytab = realm.keytab("alice");
    const environment_entry tickets("KRB5CCNAME", realm.tickets("alice"));
    const temporary_directory directory;
    const auto login = (directory.path() / "login").string();
    write_login(login, "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
                       "useTicketCache=false principal=\"alice@ZK.TEST\" keyTab=\"" +
                           keytab + '"');
    const sasl_servers known(realm);
    zookeeper_server visited(known.options());
    take_turns(visited, "GSSAPI " + keytab,
               "-Djava.security.auth.login.config=" + login + " -Djava.security.krb5.conf=" + realm.configuration());
}

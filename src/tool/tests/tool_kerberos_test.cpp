// A tool that identifies itself by Kerberos, with a keytab or with the tickets of kinit, and one that ends while a KDC
// is silent.
#include "support/sasl_servers.hpp"
#include "support/skip.hpp"
#include "tool/tests/tool_scene.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace zklock;
using namespace zklock::test;
using std::chrono::seconds;

TEST_SUITE_BEGIN("kerberos" * skipped_if(!kerberos_realm::installed(), "no KDC is installed"));

TEST_CASE("the tool is whom its keytab or its ticket is for; who has neither hears it in Kerberos's words")
{
    kerberos_realm realm;
    const sasl_servers known(realm);
    zookeeper_server own(known.options());
    tool_scene scene;
    const std::string program = tool_scene::program() + ' ';
    const std::string servers = "--servers localhost:" + std::to_string(own.port()) + ' ';
    const std::string by_tickets = servers + "--sasl gssapi ";
    const std::string by_keytab = by_tickets + "--sasl-keytab " + realm.keytab("alice") + ' ';
    const auto run = [&](const std::string& line) { return scene.run_command({"sh", "-c", line}); };

    const ended_tool locked = run(program + "run " + by_keytab + "--acl creator /tool-kerberos -- echo locked");
    CHECK_MESSAGE(locked.status == 0, locked.text);
    CHECK(locked.text.find("locked") != std::string::npos);
    const ended_tool listed =
        run("KRB5CCNAME=" + realm.tickets("alice") + ' ' + program + "ls " + by_tickets + "/tool-kerberos");
    CHECK_MESSAGE(listed.status == 0, listed.text);
    CHECK(run(program + "ls " + servers + "/tool-kerberos").status != 0); // it is alice's
    const std::string as_bob = "KRB5CCNAME=" + realm.tickets("bob") + ' ' + program;
    CHECK(run(as_bob + "ls " + by_tickets + "/tool-kerberos").status != 0);

    const ended_tool examined = run(program + "doctor " + by_keytab);
    CHECK_MESSAGE(examined.text.find(" takes us for alice") != std::string::npos, examined.text);
    const ended_tool other = run(as_bob + "doctor " + by_tickets);
    CHECK_MESSAGE(other.text.find(" takes us for bob") != std::string::npos, other.text);
    const ended_tool nobody = run(program + "doctor " + by_tickets);
    CHECK(nobody.status != 0);
    CHECK_MESSAGE(nobody.text.find("No Kerberos credentials available") != std::string::npos, nobody.text);
}

TEST_CASE("a server that does not accept the ticket is tried until the time is over; the tool says what may be wrong")
{
    kerberos_realm realm;
    const sasl_servers known(realm);
    zookeeper_server own(known.options());
    realm.change_key("zookeeper/localhost");
    const std::string by_keytab = "--servers localhost:" + std::to_string(own.port()) +
                                  " --session-timeout 6 --sasl gssapi --sasl-keytab " + realm.keytab("alice");
    tool_scene scene;
    for (const std::string command :
         {"ls --connect-timeout 2 ", "doctor --connect-timeout 4 ", "run --connect-timeout 4 "}) {
        const auto began = steady_clock::now();
        const ended_tool ended = scene.run_command({"sh", "-c",
                                                    tool_scene::program() + ' ' + command + by_keytab + " /nowhere" +
                                                        (command.starts_with("run") ? " -- true" : "")});
        CAPTURE(command);
        CHECK_MESSAGE(ended.status == 122, ended.text);
        CHECK_MESSAGE(ended.text.find("their clocks may differ, or it has another key") != std::string::npos,
                      ended.text);
        CHECK_MESSAGE(ended.text.find("left out since") == std::string::npos, ended.text);
        CHECK_MESSAGE(ended.text.find("can be reached") == std::string::npos, ended.text);
        CHECK(steady_clock::now() - began < seconds(13));
    }
}

TEST_CASE("a tool that ends while a KDC is silent does not wait for it, and ends as ever")
{
    kerberos_realm realm;
    const auto keytab = realm.keytab("alice");
    tool_scene scene;
    realm.pause();
    for (const bool doctor : {false, true}) {
        const auto began = steady_clock::now();
        const ended_tool ended = scene.run({doctor ? "doctor" : "ls", "--session-timeout", "6", "--connect-timeout",
                                            "4", "--sasl", "gssapi", "--sasl-keytab", keytab, "/nowhere"});
        CHECK_MESSAGE(ended.status == 122, ended.text);
        CHECK_MESSAGE(ended.text.find("(KDC) has answered in time") != std::string::npos, ended.text);
        CHECK(steady_clock::now() - began < seconds(13)); // the call itself takes twice as long
    }
}

TEST_SUITE_END();

// A tool that identifies itself by SASL: locks, `doctor`, and where its password comes from.
#include "support/sasl_servers.hpp"
#include "tool/tests/tool_scene.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

using namespace zklock;
using namespace zklock::test;

namespace {

const server_starts_with digest_md5([](server_options& options) {
    static const sasl_servers servers(std::map<std::string, std::string>{{"bob", "bobsecret"}});
    servers.add_to(options);
});

std::string as_bob(const std::string& more)
{
    return "--sasl digest-md5 --sasl-user bob " + more;
}

} // namespace

TEST_CASE("the password is in a file, or in the environment; a wrong one is told, and never written")
{
    tool_scene scene;
    std::ofstream(scene.file("password")) << "bobsecret\n";
    const std::string program = tool_scene::program() + ' ';
    const std::string in_file = as_bob("--sasl-password-file " + scene.file("password").string() + ' ');
    const auto run = [&](const std::string& line) { return scene.run_command({"sh", "-c", line}); };

    const ended_tool locked = run(program + "run " + in_file + "--acl creator /tool-sasl -- echo locked");
    CHECK_MESSAGE(locked.status == 0, locked.text);
    CHECK(locked.text.find("locked") != std::string::npos);
    const ended_tool listed = run("ZKLOCK_SASL_PASSWORD=bobsecret " + program + "ls " + as_bob("/tool-sasl"));
    CHECK_MESSAGE(listed.status == 0, listed.text);
    CHECK(run(program + "ls /tool-sasl").status != 0); // it is bob's

    const ended_tool refused = run("ZKLOCK_SASL_PASSWORD=wrong-password " + program + "ls " + as_bob("/tool-sasl"));
    CHECK(refused.status != 0);
    CHECK_MESSAGE(refused.text.find("refuses this client") != std::string::npos, refused.text);
    CHECK(refused.text.find("wrong-password") == std::string::npos);

    const ended_tool examined = run(program + "doctor " + in_file);
    CHECK_MESSAGE(examined.text.find(" takes us for bob") != std::string::npos, examined.text);
    CHECK(examined.text.find("DIGEST-MD5 without TLS") != std::string::npos);
    access_rule reading;
    reading.permissions = 1;
    admin_client(server().port()).create("/tool-closed", {}, create_mode::persistent, {reading});
    const ended_tool closed =
        run(program + "doctor --servers " + server().address() + "/tool-closed " + in_file + "/lock");
    const std::string unseen = ": whom it takes us for cannot be seen, because no node can be made at the root: ";
    CHECK_MESSAGE(closed.text.find(unseen) != std::string::npos, closed.text);
    CHECK(closed.text.find("Kerberos") == std::string::npos);
}

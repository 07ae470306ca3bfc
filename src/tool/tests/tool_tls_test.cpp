// Files of TLS that cannot be used.
#include "support/certificate_authority.hpp"
#include "tool/tests/tool_scene.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace zklock::test;

TEST_CASE("a file of TLS that cannot be used is told at once, with its option")
{
    tool_scene scene;
    certificate_authority authority;
    const certified own = authority.certify(), other = authority.certify();
    certificate_wish encrypted;
    encrypted.key_password = "secret";
    const certified locked = authority.certify(encrypted);
    const std::string broken = scene.file("broken.pem").string();
    std::ofstream(broken) << "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
    const auto refused = [&](const std::string& options, const std::string& why) {
        const auto began = steady_clock::now();
        const ended_tool ended = scene.run_command({"sh", "-c", tool_scene::program() + " ls /x --tls " + options});
        INFO(options, ": ", ended.text);
        CHECK(ended.status == 120);
        CHECK(steady_clock::now() - began < std::chrono::seconds(8)); // the limit for a connection is 10 s
        CHECK(ended.text.find(why) != std::string::npos);
    };
    refused("--tls-ca /no/such/file", "--tls-ca /no/such/file: No such file");
    refused("--tls-cert /no/such/cert", "--tls-cert /no/such/cert: No such file");
    refused("--tls-ca /etc/passwd", "--tls-ca /etc/passwd: no PEM text of a certificate can be read in it");
    refused("--tls-ca " + broken, "--tls-ca " + broken + ": bad base64 decode");
    refused("--tls-cert /dev/null", "--tls-cert /dev/null: no PEM text of a certificate can be read in it");
    refused("--tls-cert " + broken, "--tls-cert " + broken + ": bad base64 decode");
    refused("--tls-cert " + own.certificate, own.certificate + ": no PEM text of a key can be read in it");
    refused("--tls-cert " + own.certificate + " --tls-key /dev/null",
            "--tls-key /dev/null: no PEM text of a key can be read in it");
    refused("--tls-cert " + own.certificate + " --tls-key " + other.key, "--tls-key " + other.key + ": key values");
    const std::string of_locked = "--tls-cert " + locked.certificate + " --tls-key " + locked.key;
    refused(of_locked, "--tls-key " + locked.key + ": it is encrypted, and ZKLOCK_TLS_KEY_PASSWORD is empty");
    const ended_tool wrong = scene.run_command(
        {"sh", "-c", "ZKLOCK_TLS_KEY_PASSWORD=wrong " + tool_scene::program() + " ls /x --tls " + of_locked});
    CHECK(wrong.status == 120);
    CHECK(wrong.text.find("the password in ZKLOCK_TLS_KEY_PASSWORD does not open it") != std::string::npos);
    const ended_tool usable =
        scene.run_command({"sh", "-c",
                           "ZKLOCK_SERVERS=127.0.0.1:1 ZKLOCK_TLS_KEY_PASSWORD=secret " + tool_scene::program() +
                               " ls /x --connect-timeout 0.1 --tls --tls-ca " + authority.file() + " --tls-cert " +
                               locked.certificate + " --tls-key " + locked.key});
    CHECK_MESSAGE(usable.status == 122, usable.text);
}

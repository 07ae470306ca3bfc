// sanitizers: none
// program: tls
// What the tests of TLS stand on: certificates, and servers with a port for TLS. Whoever looks at them here has nothing
// to do with the library.
#include "support/certificate_authority.hpp"
#include "support/expect_clean.hpp"
#include "support/four_letter_words.hpp"
#include "support/proxy.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include <fcntl.h>

using namespace zklock::test;

namespace {

/// What a server tells `openssl s_client` of itself, or what openssl says against it.
std::string asked(std::uint16_t port, const std::vector<std::string>& more)
{
    const temporary_directory here;
    std::ofstream(here.path() / "question") << "srvr";
    std::vector<std::string> command{
        "openssl", "s_client", "-connect", "127.0.0.1:" + std::to_string(port), "-quiet", "-verify_return_error"};
    command.insert(command.end(), more.begin(), more.end());
    unique_fd question{::open((here.path() / "question").c_str(), O_RDONLY | O_CLOEXEC)};
    child_process(std::move(command), here.path(), here.path() / "answer", std::move(question)).wait();
    std::ifstream file(here.path() / "answer");
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string asked(const zookeeper_server& server, std::vector<std::string> more = {})
{
    more.insert(more.end(), {"-CAfile", usual_authority().file()});
    return asked(server.secure_port(), more);
}

std::vector<std::string> with(const certified& own, std::vector<std::string> more = {})
{
    more.insert(more.end(), {"-cert", own.certificate, "-key", own.key});
    return more;
}

bool says(const std::string& text, const std::string& part)
{
    const bool found = text.find(part) != std::string::npos;
    if (!found)
        MESSAGE("what was said: ", text);
    return found;
}

server_options with_secure_port(const std::string& client_auth, bool tls_1_3)
{
    server_options options;
    options.secure.emplace();
    options.secure->client_auth = client_auth;
    options.secure->tls_1_3 = tls_1_3;
    return options;
}

} // namespace

TEST_CASE("a port for TLS: who trusts its authority is answered, under 1.2 only unless the server is told otherwise")
{
    const std::string answer = "Mode: standalone";
    zookeeper_server server(with_secure_port("none", false));
    CHECK(says(asked(server, {"-verify_hostname", "localhost"}), answer));
    CHECK(says(asked(server, {"-verify_ip", "127.0.0.1"}), answer));
    CHECK(says(asked(server, {"-tls1_3"}), "alert protocol version"));
    CHECK(says(asked(server, {"-verify_hostname", "elsewhere"}), "hostname mismatch"));
    certificate_authority other("another");
    CHECK(says(asked(server.secure_port(), {"-CAfile", other.file()}), "unable to get local issuer certificate"));
    CHECK(says(asked(server.port(), {"-CAfile", usual_authority().file()}), "error"));

    admin_client(server.port()).create_all("/plain"); // the plain port is what it was
    server.restart();
    CHECK(says(asked(server, {"-tls1_2"}), answer));
    CHECK(admin_client(server.port()).exists("/plain"));
    expect_clean(server);
}

TEST_CASE("a server that wants a certificate takes one, and one that needs it takes nobody without")
{
    const std::string answer = "Mode: standalone";
    const auto known = usual_authority().certify();
    certificate_authority other("another");
    const auto unknown = other.certify();
    zookeeper_server wants(with_secure_port("want", true)), needs(with_secure_port("need", true));
    for (const std::string version : {"-tls1_2", "-tls1_3"}) {
        CAPTURE(version);
        CHECK(says(asked(wants, {version}), answer));
        CHECK(says(asked(wants, with(known, {version})), answer));
        CHECK_FALSE(says(asked(wants, with(unknown, {version})), answer));
        const auto refused = asked(needs, {version});
        CHECK_FALSE(says(refused, answer));
        CHECK(says(refused, "alert"));
        CHECK(says(asked(needs, with(known, {version})), answer));
    }
}

TEST_CASE("certificates are as they were wished: expired, without alternative names, with an encrypted key")
{
    server_options options = with_secure_port("none", false);
    certificate_wish wish;
    wish.expired = true;
    options.secure->key_store = usual_authority().certify(wish).store;
    zookeeper_server late(options);
    CHECK(says(asked(late), "certificate has expired"));

    wish.expired = false;
    wish.common_name = "localhost";
    wish.names.clear();
    options.secure->key_store = usual_authority().certify(wish).store;
    zookeeper_server nameless(options);
    CHECK(says(asked(nameless, {"-verify_hostname", "localhost"}), "Mode: standalone")); // by its common name
    CHECK(says(asked(nameless, {"-verify_ip", "127.0.0.1"}), "IP address mismatch"));

    wish.key_password = "secret";
    const auto locked = usual_authority().certify(wish);
    std::ifstream file(locked.key);
    CHECK(says({std::istreambuf_iterator<char>(file), {}}, "BEGIN ENCRYPTED PRIVATE KEY"));
}

TEST_CASE("three servers, each with a port for TLS")
{
    zookeeper_ensemble ensemble(3, with_secure_port("none", false));
    for (std::size_t i = 0; i < ensemble.size(); ++i) {
        const auto answer = asked(ensemble[i]);
        CHECK(says(answer, "Mode: ") == says(answer, "Mode: " + server_mode(ensemble[i].port())));
    }
    expect_clean(ensemble);
}

TEST_CASE("a proxy sees the records of TLS, and no word that is said")
{
    zookeeper_server server(with_secure_port("none", false));
    proxy between(server.secure_port(), std::nullopt, speech::tls);
    const std::vector<std::string> trusting{"-CAfile", usual_authority().file()};
    CHECK(says(asked(between.port(), trusting), "Mode: standalone"));
    const auto records = between.count(opcode::tls_record);
    CHECK(records >= 4);                            // hello, key, change of cipher, finished, the question
    CHECK(says(between.captured(), "zklock test")); // a certificate of TLS 1.2 is not encrypted
    CHECK_FALSE(says(between.captured(), "Mode: "));

    for (std::size_t record = 0; record + 1 < records; ++record) { // the last says good-bye
        between.on_next(opcode::tls_record, moment::request, fate::cut, record);
        CHECK_FALSE(says(asked(between.port(), trusting), "Mode: "));
        CHECK(between.struck());
    }
    CHECK(says(asked(between.port(), trusting), "Mode: standalone"));
}

// DIGEST-MD5, against the examples of RFC 2831 and answers that were computed elsewhere.
#include "bridge/sasl/credentials.hpp"
#include "bridge/sasl/digest_md5.hpp"
#include "bridge/sasl/texts.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace zklock;
using namespace zklock::bridge;
using kind = sasl_step::kind;

namespace {

constexpr const char* challenge_of_zookeeper = R"(realm="zk-sasl-md5",nonce="nonce1",charset=utf-8,algorithm=md5-sess)";

digest_md5 client(const std::string& user, const std::string& password)
{
    return {user, password, {"zookeeper/zk-sasl-md5", "cnonce1"}};
}

/// What a client's answer has under that name.
std::string said(const sasl_step& step, const std::string& name)
{
    REQUIRE(step.what == kind::token);
    auto all = read_directives(step.text);
    REQUIRE(all);
    return (*all)[name];
}

struct refusal {
    std::string challenge;
    sasl_failure by;
    std::string words;
};

} // namespace

TEST_CASE("DIGEST-MD5: the examples of RFC 2831")
{
    struct example {
        const char *uri, *nonce, *client_nonce, *response, *proof;
    };
    for (const example& e : {example{"imap/elwood.innosoft.com", "OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk",
                                     "d388dad90d4bbd760a152321f2143af7", "ea40f60335c427b5527b84dbabcdfffd"},
                             example{"acap/elwood.innosoft.com", "OA9BSXrbuRhWay", "OA9BSuZWMSpW8m",
                                     "6084c6db3fede7352c551284490fd0fc", "2f0b3d7c3c2e486600ef710726aa2eae"}}) {
        digest_md5 chris("chris", "secret", {e.uri, e.client_nonce});
        CHECK(chris.first().empty());
        const auto answer = chris.step(std::string("realm=\"elwood.innosoft.com\",nonce=\"") + e.nonce +
                                       "\",qop=\"auth\",algorithm=md5-sess,charset=utf-8");
        CHECK(said(answer, "response") == e.response);
        CHECK(said(answer, "realm") == "elwood.innosoft.com");
        CHECK(said(answer, "qop") == "auth");
        CHECK(chris.step(std::string("rspauth=") + e.proof).what == kind::done);
    }
}

TEST_CASE("DIGEST-MD5: what ISO 8859-1 holds is hashed in it, and sent as UTF-8")
{
    struct example {
        const char *user, *password, *response;
    };
    for (const example& e : {example{"bob", "pässwört", "ee77d878329f6205dd0f543148a3865a"},
                             example{"bøb", "x", "243c016bb45a91735c81b0c0cd5068cf"},
                             example{"bob", "пароль", "9f38dd4d535b5f81a3dd990346fd59bf"},
                             example{"боб", "x", "722e597c84a49854abd38cb124930e72"}}) {
        auto one = client(e.user, e.password);
        const auto answer = one.step(challenge_of_zookeeper);
        CHECK(said(answer, "response") == e.response);
        CHECK(said(answer, "username") == e.user);
        CHECK(said(answer, "charset") == "utf-8");
    }
}

TEST_CASE("DIGEST-MD5: a server without UTF-8 is told the name in ISO 8859-1, if that has it")
{
    const std::string challenge = R"(realm="zk-sasl-md5",nonce="nonce1",algorithm=md5-sess)";
    auto one = client("bøb", "x");
    const auto answer = one.step(challenge);
    CHECK(said(answer, "username") == "b\xf8"
                                      "b");
    CHECK(said(answer, "response") == "243c016bb45a91735c81b0c0cd5068cf");
    CHECK(said(answer, "charset").empty());
    for (const auto& [user, password] : {std::pair("боб", "x"), std::pair("bob", "пароль")}) {
        auto other = client(user, password);
        const auto none = other.step(challenge);
        CHECK(none.what == kind::failed);
        CHECK(none.by == sasl_failure::broken);
        CHECK(none.text.find("ISO 8859-1") != std::string::npos);
    }
}

TEST_CASE("DIGEST-MD5: names with quotation marks, several realms, and a nonce of each client's own")
{
    auto one = client("a\"b\\c", "x");
    const auto answer = one.step(R"(realm="re\"alm",realm="other",nonce="nonce1",charset=utf-8,algorithm=md5-sess)");
    CHECK(said(answer, "username") == "a\"b\\c");
    CHECK(said(answer, "realm") == "re\"alm");
    CHECK(said(answer, "response") == "5609f8ebbfc0476fca2ed41929b6341e");
    digest_md5 first("bob", "x", {}), second("bob", "x", {});
    const auto answers = {first.step(challenge_of_zookeeper), second.step(challenge_of_zookeeper)};
    const auto nonce = said(*answers.begin(), "cnonce");
    CHECK(nonce.size() == 48);
    CHECK(nonce != said(*(answers.begin() + 1), "cnonce"));
}

TEST_CASE("DIGEST-MD5: challenges that are none")
{
    const std::string empty = "the server has no SASL, or lets in whom it refuses";
    const std::string odd = "the server's challenge is none of DIGEST-MD5 that this client understands";
    for (const refusal& r :
         {refusal{"", sasl_failure::disagreed, empty},
          {"nonsense", sasl_failure::broken, odd},
          {R"(realm="x",nonce="n",charset=utf-8)", sasl_failure::broken, odd},
          {R"(realm="x",nonce="n",algorithm=md5)", sasl_failure::broken, odd},
          {R"(realm="x",nonce="",algorithm=md5-sess)", sasl_failure::broken, odd},
          {R"(realm="x",nonce="n",nonce="m",algorithm=md5-sess)", sasl_failure::broken, odd},
          {R"(realm="x,nonce="n",algorithm=md5-sess)", sasl_failure::broken, odd},
          {R"(realm="x",nonce="n\)", sasl_failure::broken, odd},
          {R"(realm="x",nonce="n",qop="auth-int,auth-conf",algorithm=md5-sess)", sasl_failure::broken,
           "the server wants more than authentication (qop=auth-int,auth-conf)"},
          {"realm=\"x\",nonce=\"n\",qop=\"auth-int\nall is well\xff" + std::string(100, 'x') + "\",algorithm=md5-sess",
           sasl_failure::broken,
           "the server wants more than authentication (qop=auth-int?all is well?" + std::string(39, 'x') + "...)"}}) {
        CAPTURE(r.challenge);
        auto one = client("bob", "x");
        const auto step = one.step(r.challenge);
        CHECK(step.what == kind::failed);
        CHECK(step.by == r.by);
        CHECK(step.text == r.words);
    }
    auto one = client("bob", "x");
    CHECK(one.step(R"(realm="x", nonce="n", qop="auth-int, auth" , algorithm=md5-sess,)").what == kind::token);
}

TEST_CASE("DIGEST-MD5: it is done by a right proof only")
{
    for (const refusal& r :
         {refusal{"", sasl_failure::unproved, "the server has no SASL, or lets in whom it refuses"},
          {"rspauth=", sasl_failure::unproved, "the server does not know the password: its proof (rspauth) is wrong"},
          {"rspauth=9ef732dcc09f4947a6167f42bf06c298", sasl_failure::unproved,
           "the server does not know the password: its proof (rspauth) is wrong"},
          {challenge_of_zookeeper, sasl_failure::broken, "the server has sent something else than its proof (rspauth)"},
          {"rspauth=\"9ef", sasl_failure::broken, "the server has sent something else than its proof (rspauth)"}}) {
        CAPTURE(r.challenge);
        auto one = client("bob", "pässwört");
        REQUIRE(one.step(challenge_of_zookeeper).what == kind::token);
        const auto step = one.step(r.challenge);
        CHECK(step.what == kind::failed);
        CHECK(step.by == r.by);
        CHECK(step.text == r.words);
    }
    auto one = client("bob", "pässwört");
    REQUIRE(one.step(challenge_of_zookeeper).what == kind::token);
    CHECK(one.step("rspauth=9ef732dcc09f4947a6167f42bf06c299").what == kind::done);
}

TEST_CASE("DIGEST-MD5: what a server's refusal means")
{
    auto one = client("bob", "x");
    auto step = one.refused();
    CHECK(step.what == kind::failed);
    CHECK(step.by == sasl_failure::disagreed);
    CHECK(step.text.find("GSSAPI") != std::string::npos);
    REQUIRE(one.step(challenge_of_zookeeper).what == kind::token);
    step = one.refused();
    CHECK(step.by == sasl_failure::refused);
    CHECK(step.text.find("password") != std::string::npos);
    CHECK(digest_md5::missing().empty()); // else nothing here could have been played
}

TEST_CASE("a process whose OpenSSL has no MD5" * doctest::skip())
{
    sasl_options options;
    options.mechanism = sasl_mechanism::digest_md5;
    options.user = "bob";
    options.password = "bobsecret";
    const auto start = start_sasl(sasl_credentials(options), {"localhost"});
    CHECK_FALSE(start.made);
    CAPTURE(start.why);
    CHECK(start.why.starts_with("OpenSSL has no MD5 here, perhaps because of FIPS, and DIGEST-MD5 needs it ("));
    CHECK_FALSE(start.why.ends_with("()")); // OpenSSL says why
}

TEST_CASE("DIGEST-MD5: where OpenSSL has no MD5, as under FIPS, this is said")
{
    const test::temporary_directory directory;
    const std::string file = (directory.path() / "openssl.cnf").string();
    std::ofstream(file) << "openssl_conf = all\n[all]\nalg_section = algorithms\n[algorithms]\n"
                           "default_properties = fips=yes\n";
    test::child_process without({"env", "OPENSSL_CONF=" + file,
                                 std::filesystem::read_symlink("/proc/self/exe").string(), "--no-skip",
                                 "--test-case=a process whose OpenSSL has no MD5"},
                                directory.path(), {});
    CHECK(without.wait() == 0);
}

TEST_CASE("options: a password that another takes the place of is not left in memory")
{
    sasl_options options;
    options.password = "a password that is longer than what a string holds by itself";
    sasl_options other;
    other.password = "short";
    SUBCASE("by a copy") {
        options = other;
    }
    SUBCASE("by a move") {
        options = std::move(other);
    }
    CHECK(options.password == "short");
    const std::string_view all(options.password.data(), options.password.capacity());
    CHECK(all.find("longer than") == all.npos);
    options = *&options;
    CHECK(options.password == "short");
}

TEST_CASE("a secret is wiped where it was")
{
    for (const std::size_t size : {std::size_t(8), std::size_t(200)}) { // in the string itself, and elsewhere
        std::string text(size, 'x');
        text.resize(size / 2); // what was behind it is still there
        const char* const place = text.data();
        wipe(text);
        CHECK(text.empty());
        for (std::size_t i = 0; i < size && i < text.capacity(); ++i)
            CHECK(place[i] == '\0');
    }
    CHECK(in_latin_1("pässwört")->text() == "p\xe4ssw\xf6rt");
    for (const char* const not_in_it : {"пароль", "\xc3", "\xc3x", "\xff", "€"})
        CHECK_FALSE(in_latin_1(not_in_it));
}

// Which servers a client takes for the right ones.
#include "tls/tls_scene.hpp"

#include <boost/asio/ssl/context.hpp>

using namespace zklock::test;
namespace ssl = boost::asio::ssl;
using bridge::server_name;

namespace {

/// A context of the user's own, which trusts the scene's authority.
std::shared_ptr<ssl::context> make_own(const tls_scene& s, ssl::verify_mode mode = ssl::verify_peer)
{
    auto own = std::make_shared<ssl::context>(ssl::context::tls_client);
    own->add_certificate_authority(boost::asio::buffer(s.root.certificate()));
    own->set_verify_mode(mode);
    return own;
}

} // namespace

TEST_CASE("names of servers that are accepted")
{
    const tls_scene s;
    const auto context = s.load();
    struct accepted {
        std::vector<std::string> listed;
        server_name name;
        std::string wanted; ///< by SNI
    };
    const std::vector<accepted> all{
        {{"DNS:zk1"}, {"zk1", false}, "zk1"},
        {{"DNS:zk1.example.com", "DNS:zk2"}, {"zk2", false}, "zk2"},
        {{"DNS:zk1.example.com"}, {"ZK1.Example.com", false}, "ZK1.Example.com"},
        {{"DNS:zk1.example.com"}, {"zk1.example.com.", false}, "zk1.example.com"}, // a dot at the end
        {{"DNS:*.example.com"}, {"zk1.example.com", false}, "zk1.example.com"},
        {{"IP:127.0.0.1"}, {"127.0.0.1", true}, ""},
        {{"DNS:zk1", "IP:10.0.0.1", "IP:10.0.0.2"}, {"10.0.0.2", true}, ""},
        {{"IP:::1"}, {"::1", true}, ""},
        {{"IP:fd00::12"}, {"fd00:0:0::0012", true}, ""},
        {{}, {"zk", false}, "zk"}, // its common name
    };
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION})
        for (const accepted& each : all) {
            CAPTURE(name_of(version));
            CAPTURE(each.name.host);
            tls_engine client(context, each.name);
            server_end server(s.server_of(with(&certificate_request::names, each.listed), version));
            exchange(client, server);
            INFO(client.failure());
            CHECK(client.now_in() == tls_engine::state::open);
            CHECK(server.name_wanted() == each.wanted);
        }
}

TEST_CASE("names of servers that are refused, with what the certificate is for")
{
    const tls_scene s;
    const auto context = s.load();
    struct refused {
        std::vector<std::string> listed;
        server_name name;
        std::string why;
    };
    const std::string no = "certificate verify failed: ";
    const std::vector<refused> all{
        {{"DNS:zk1", "DNS:zk2"}, {"zk3", false}, no + "hostname mismatch: it is for DNS:zk1, DNS:zk2, and not for zk3"},
        {{"DNS:zk1"}, {"zk", false}, no + "hostname mismatch: it is for DNS:zk1, and not for zk"}, // its common name
        {{}, {"zk1", false}, no + "hostname mismatch: it is for CN=zk, and not for zk1"},
        {{"DNS:*.example.com"},
         {"a.b.example.com", false},
         no + "hostname mismatch: it is for DNS:*.example.com, and not for a.b.example.com"},
        {{"DNS:*.example.com"},
         {"example.com", false},
         no + "hostname mismatch: it is for DNS:*.example.com, and not for example.com"},
        {{"DNS:zk*.example.com"},
         {"zk1.example.com", false},
         no + "hostname mismatch: it is for DNS:zk*.example.com, and not for zk1.example.com"},
        {{"DNS:zk1", "IP:10.0.0.1"},
         {"10.0.0.2", true},
         no + "IP address mismatch: it is for DNS:zk1, IP:10.0.0.1, and not for 10.0.0.2"},
        {{"DNS:127.0.0.1"},
         {"127.0.0.1", true},
         no + "IP address mismatch: it is for DNS:127.0.0.1, and not for 127.0.0.1"},
        {{"IP:::1"}, {"::2", true}, no + "IP address mismatch: it is for IP:::1, and not for ::2"},
    };
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION})
        for (const refused& each : all) {
            CAPTURE(name_of(version));
            const auto server = s.server_of(with(&certificate_request::names, each.listed), version);
            CHECK(outcome(context, server, each.name) == each.why);
        }
    const auto numeric_name = s.server_of(with(&certificate_request::common_name, "127.0.0.1"));
    CHECK(outcome(context, numeric_name, {"127.0.0.1", true}) ==
          no + "IP address mismatch: it is for CN=127.0.0.1, and not for 127.0.0.1");
    certificate_request many;
    for (int each = 0; each < 20; ++each)
        many.names.push_back("DNS:zk" + std::to_string(each) + ".example.com");
    CHECK(outcome(context, s.server_of(many)).ends_with("DNS:zk9.example.com and so on, and not for zk1"));
}

TEST_CASE("what no certificate can be for fails at once")
{
    const tls_scene s;
    const auto context = s.load();
    for (const server_name& name : std::vector<server_name>{{"", false},
                                                            {".", false},
                                                            {".example.com", false},
                                                            {"fe80::1%eth0", true},
                                                            {"zk1", true},
                                                            {std::string(300, 'a'), false}}) {
        const tls_engine client(context, name);
        CHECK(client.now_in() == tls_engine::state::failed);
        CHECK(client.failure() == "no certificate can be for \"" + name.host + '"');
        CHECK(client.pending().empty());
    }
}

TEST_CASE("certificates that are refused, and why")
{
    const tls_scene s;
    const auto context = s.load();
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        CAPTURE(name_of(version));
        certificate_request r;
        r.names = {"DNS:zk1"};
        r.from = -7'200;
        r.until = -3'600;
        CHECK(outcome(context, s.server_of(r, version)) == "certificate verify failed: certificate has expired: CN=zk");
        r.from = 3'600;
        r.until = 7'200;
        CHECK(outcome(context, s.server_of(r, version)) ==
              "certificate verify failed: certificate is not yet valid: CN=zk");
        r = {};
        r.names = {"DNS:zk1"};
        server_settings strange;
        strange.version = version;
        strange.own = authority("strange").issue(r);
        CHECK(outcome(context, strange) == "certificate verify failed: unable to get local issuer certificate: CN=zk");
        const authority between = s.root.between("between");
        strange.own = between.issue(r);
        CHECK(outcome(context, strange) == "certificate verify failed: unable to get local issuer certificate: CN=zk");
        strange.own.certificate += between.certificate();
        CHECK(outcome(context, strange) == "open");
        tls_scene of_between; // trusts it, and not who has signed it
        of_between.options.ca_file = of_between.write("between.pem", between.certificate());
        strange.own = between.issue(r);
        CHECK(outcome(of_between.load(), strange) == "open");
        r.common_name = "a\nb";
        strange.own = authority("strange").issue(r);
        CHECK(outcome(context, strange).find('\n') == std::string::npos);
    }
}

TEST_CASE("a port that speaks something else")
{
    const tls_scene s;
    for (const std::string answer : {"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n"}) {
        tls_engine client(s.load(), {"zk1", false});
        client.advance();
        client.put(answer);
        CHECK(client.advance() == tls_engine::state::failed);
        INFO(client.failure());
        CHECK(client.failure().ends_with(" (its answer is not TLS)"));
    }
}

TEST_CASE("a context of the user's own: what the client needs is added, and what it says stays")
{
    const tls_scene s;
    const auto own = make_own(s);
    const auto context = std::make_shared<const bridge::tls_context>(own);
    CHECK(context->native() == own->native_handle());
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        CHECK(outcome(context, s.server_named("DNS:zk1", version)) == "open");
        CHECK(outcome(context, s.server_named("DNS:zk2", version)) == "certificate verify failed: hostname mismatch");
        CHECK(outcome(context, s.server_named("IP:::1", version), {"::1", true}) == "open");
        CHECK(outcome(context, s.server_named("IP:::1", version), {"::2", true}) ==
              "certificate verify failed: IP address mismatch");
    }

    // Its callback is called, and has the last word.
    int called = 0;
    bool verdict = false;
    own->set_verify_callback([&](bool, ssl::verify_context&) {
        ++called;
        return verdict;
    });
    CHECK(outcome(context, s.server_named("DNS:zk1")).starts_with("certificate verify failed"));
    CHECK(called == 1);
    verdict = true;
    CHECK(outcome(context, s.server_named("DNS:zk2")) == "open");

    // It may expect names of its own, for other uses.
    auto picky = make_own(s);
    X509_VERIFY_PARAM_set1_host(SSL_CTX_get0_param(picky->native_handle()), "elsewhere", 0);
    CHECK(outcome(std::make_shared<const bridge::tls_context>(picky), s.server_named("DNS:zk1")) == "open");
    CHECK(outcome(std::make_shared<const bridge::tls_context>(picky), s.server_named("IP:::1"), {"::1", true}) ==
          "open");
}

TEST_CASE("a context of the user's own that verifies nobody is refused")
{
    const tls_scene s;
    for (const auto mode : {ssl::verify_none, ssl::verify_peer}) {
        const auto own = make_own(s, mode);
        CHECK(bridge::verifies_servers(*own) == (mode == ssl::verify_peer));
        const tls_engine client(std::make_shared<const bridge::tls_context>(own), {"zk1", false});
        CHECK((client.now_in() == tls_engine::state::failed) == (mode == ssl::verify_none));
    }
    const tls_engine client(std::make_shared<const bridge::tls_context>(make_own(s, ssl::verify_none)), {"zk1", false});
    CHECK(client.failure() == "tls.context is verify_none, and would take any server for the right one");
}

TEST_CASE("a server without a certificate is refused, whatever ciphers a context allows")
{
    const tls_scene s;
    const auto own = make_own(s);
    server_settings settings = s.server_named("DNS:zk1", TLS1_2_VERSION);
    settings.ciphers = "aNULL:@SECLEVEL=0";
    REQUIRE(SSL_CTX_set_cipher_list(own->native_handle(), settings.ciphers.c_str()) == 1);
    CHECK(outcome(std::make_shared<const bridge::tls_context>(own), settings) == "the server has shown no certificate");
    CHECK(outcome(s.load(), settings).starts_with("the server refuses: "));
}

TEST_CASE("older versions than TLS 1.2 are refused, whatever a context allows")
{
    const tls_scene s;
    const auto own = make_own(s);
    SSL_CTX* const native = own->native_handle();
    SSL_CTX_set_security_level(native, 0);
    SSL_CTX_set_min_proto_version(native, TLS1_VERSION);
    tls_engine client(std::make_shared<const bridge::tls_context>(own), {"zk1", false});
    client.advance();
    // The oldest version that the client says it speaks, in the list that TLS 1.3 has for it.
    const std::string hello(client.pending().data(), client.pending().size());
    const std::string both("\x00\x2b\x00\x05\x04\x03\x04\x03\x03", 9), three("\x00\x2b\x00\x07\x06", 5);
    CHECK(hello.find(both) != hello.npos);
    CHECK(hello.find(three) == hello.npos);
    CHECK(SSL_CTX_get_min_proto_version(native) == TLS1_VERSION);

    const auto old = make_own(s);
    SSL_CTX_set_max_proto_version(old->native_handle(), TLS1_1_VERSION);
    tls_engine too_old(std::make_shared<const bridge::tls_context>(old), {"zk1", false});
    too_old.advance();
    CHECK(too_old.now_in() == tls_engine::state::failed);

#if !defined(OPENSSL_NO_TLS1_1) && !defined(OPENSSL_NO_TLS1_1_METHOD)
    // A method of one version heeds no limits.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    const auto fixed = std::make_shared<ssl::context>(SSL_CTX_new(TLSv1_1_client_method()));
#pragma GCC diagnostic pop
    fixed->add_certificate_authority(boost::asio::buffer(s.root.certificate()));
    fixed->set_verify_mode(ssl::verify_peer);
    REQUIRE(SSL_CTX_set_cipher_list(fixed->native_handle(), "DEFAULT:@SECLEVEL=0") == 1);
    server_settings as_old = s.server_named("DNS:zk1", TLS1_1_VERSION);
    as_old.ciphers = "DEFAULT:@SECLEVEL=0";
    CHECK(outcome(std::make_shared<const bridge::tls_context>(fixed), as_old) ==
          "the two agreed on TLSv1.1, and TLS 1.2 is needed");
#endif

    const auto latest = make_own(s);
    SSL_CTX_set_min_proto_version(latest->native_handle(), TLS1_3_VERSION);
    CHECK(outcome(std::make_shared<const bridge::tls_context>(latest), s.server_named("DNS:zk1", TLS1_3_VERSION)) ==
          "open");
    CHECK(outcome(std::make_shared<const bridge::tls_context>(latest), s.server_named("DNS:zk1", TLS1_2_VERSION)) !=
          "open");
}

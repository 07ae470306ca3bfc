// GSSAPI with a real KDC, and with a server's end that can be told to say something wrong.
#include "bridge/sasl/credentials.hpp"
#include "bridge/sasl/kdc_calls.hpp"
#include "sasl/false_kdc.hpp"
#include "sasl/gssapi_acceptor.hpp"
#include "support/kerberos_realm.hpp"
#include "support/skip.hpp"

#include <fstream>

using namespace zklock::test;
using namespace zklock::bridge;
using kind = sasl_step::kind;

namespace {

/// A realm that knows a server.
struct realm_with_server : kerberos_realm {
    const std::string server_keytab = keytab("zookeeper/localhost");
};

/// The one that all test cases here share, made for the first.
realm_with_server& realm()
{
    static realm_with_server one;
    return one;
}

const std::vector<std::string> localhost{"localhost"};

const std::string refused_ticket =
    "the server does not accept the Kerberos ticket for zookeeper@localhost: their clocks may differ, or it has "
    "another key than the ticket is for; ";

sasl_start start_with(const std::function<void(sasl_options&)>& change,
                      const std::vector<std::string>& hosts = localhost)
{
    sasl_options options;
    options.mechanism = sasl_mechanism::gssapi;
    change(options);
    const sasl_credentials credentials(options);
    CHECK(credentials.may_block());
    return start_sasl(credentials, hosts);
}

/// Has a client with a keytab begin.
sasl_start alice_starts(kerberos_realm& realm, const std::vector<std::string>& hosts = localhost)
{
    return start_with([&](sasl_options& o) { o.keytab = realm.keytab("alice"); }, hosts);
}

/// The words have to contain these.
void check_words(const sasl_start& failed, const std::string& words)
{
    CHECK_FALSE(failed.made);
    CAPTURE(failed.why);
    CHECK(failed.why.find(words) != std::string::npos);
}

} // namespace

TEST_CASE("GSSAPI: whether it can be tested here")
{
    if (!kerberos_realm::installed())
        skip("no KDC is installed");
}

TEST_SUITE_BEGIN("kerberos" * doctest::skip(!kerberos_realm::installed()));

TEST_CASE("GSSAPI: client and server prove who they are, with a keytab or with tickets that are there")
{
    auto& kdc = realm();
    for (const bool by_keytab : {true, false}) {
        const auto start = by_keytab ? alice_starts(kdc)
                                     : start_with([&](sasl_options& o) { o.credential_cache = kdc.tickets("alice"); });
        CAPTURE(start.why);
        REQUIRE(start.made);
        gssapi_acceptor server(kdc.server_keytab);
        auto step = start.made->step(server.accept(start.made->first()));
        REQUIRE(step.what == kind::token);
        CHECK(step.text.empty()); // and is sent all the same
        CHECK(server.client() == "alice@ZK.TEST");
        step = start.made->step(server.offer(std::string("\7\0\xff\xff", 4)));
        REQUIRE(step.what == kind::token);
        CHECK(server.unwrap(step.text) == std::string("\1\0\0\0", 4)); // no layer, nobody else's identity
        CHECK(start.made->step("").what == kind::done);
    }
    CHECK_FALSE(std::filesystem::exists(kdc.default_cache())); // what was got with a keytab is nowhere else
}

TEST_CASE("GSSAPI: a server that cannot prove who it is, or wants what the client does not")
{
    auto& kdc = realm();
    struct refusal {
        std::function<std::string(gssapi_acceptor&, const std::string& proof)> says; ///< first, else the proof
        std::function<std::string(gssapi_acceptor&)> then;
        sasl_failure by;
        std::string words; ///< empty: Kerberos's
    };
    const auto proves = [](gssapi_acceptor&, const std::string& proof) { return proof; };
    const auto nothing = [](gssapi_acceptor&) { return std::string(); };
    const std::string no_sasl = "the server has no SASL, or lets in whom it refuses";
    for (const refusal& r : std::vector<refusal>{
             {[](auto&, auto&) { return std::string(); }, nothing, sasl_failure::disagreed, no_sasl},
             {[](auto&, auto&) { return std::string(R"(realm="x",nonce="y",charset=utf-8,algorithm=md5-sess)"); },
              nothing, sasl_failure::disagreed, "the server has no GSSAPI: it speaks DIGEST-MD5"},
             {[](auto&, auto&) { return std::string("nonsense"); }, nothing, sasl_failure::unproved, ""},
             {[](auto&, std::string proof) {
                  proof.back() = static_cast<char>(proof.back() ^ 1);
                  return proof;
              },
              nothing, sasl_failure::unproved, ""},
             {proves, nothing, sasl_failure::unproved, no_sasl},
             {proves, [](auto&) { return std::string("nonsense"); }, sasl_failure::unproved, ""},
             {proves, [](auto& server) { return server.offer("\1"); }, sasl_failure::broken,
              "the server's offer of layers is none"},
             {proves, [](auto& server) { return server.offer(std::string("\6\0\xff\xff", 4)); }, sasl_failure::broken,
              "the server wants a layer of GSSAPI over the connection"},
         }) {
        CAPTURE(r.words);
        const auto start = alice_starts(kdc);
        REQUIRE(start.made);
        gssapi_acceptor server(kdc.server_keytab);
        auto step = start.made->step(r.says(server, server.accept(start.made->first())));
        if (step.what == kind::token)
            step = start.made->step(r.then(server));
        CHECK(step.what == kind::failed);
        CHECK(step.by == r.by);
        CAPTURE(step.text);
        CHECK_FALSE(step.text.empty());
        if (!r.words.empty())
            CHECK(step.text == r.words);
    }
    const auto start = alice_starts(kdc);
    gssapi_acceptor server(kdc.server_keytab);
    REQUIRE(start.made->step(server.accept(start.made->first())).what == kind::token);
    REQUIRE(start.made->step(server.offer(std::string("\1\0\0\0", 4))).what == kind::token);
    const auto step = start.made->step("more");
    CHECK(step.what == kind::failed);
    CHECK(step.by == sasl_failure::broken);
}

TEST_CASE("GSSAPI: who is refused with a ticket that the server has taken is refused for good")
{
    auto& kdc = realm();
    sasl_options options;
    options.mechanism = sasl_mechanism::gssapi;
    options.credential_cache = kdc.tickets("alice");
    const sasl_credentials credentials(options);
    for (const bool at_the_end : {false, true}) {
        const auto start = start_sasl(credentials, localhost);
        REQUIRE(start.made);
        gssapi_acceptor server(kdc.server_keytab);
        REQUIRE(start.made->step(server.accept(start.made->first())).what == kind::token);
        if (at_the_end)
            REQUIRE(start.made->step(server.offer(std::string("\1\0\0\0", 4))).what == kind::token);
        const auto refusal = start.made->refused();
        CHECK(refusal.by == sasl_failure::refused);
        CHECK(refusal.text == "the server has taken the Kerberos ticket for zookeeper@localhost, but not the client");
    }
}

TEST_CASE("GSSAPI: a service that the KDC does not know by one name is tried by the next")
{
    auto& kdc = realm();
    CHECK(alice_starts(kdc, {"alias", "127.0.0.1", "localhost"}).made);
    check_words(alice_starts(kdc, {"alias", "127.0.0.1"}), "zookeeper/alias@ZK.TEST not found in Kerberos database");
    const auto named = [&](const std::string& principal) {
        return start_with(
            [&](sasl_options& o) {
                o.keytab = kdc.keytab("alice");
                o.server_principal = principal;
            },
            {"alias"});
    };
    CHECK(named("zookeeper/localhost@ZK.TEST").made);
    CHECK(named("zookeeper/localhost").made);
    check_words(named("zookeeper/elsewhere"), "zookeeper/elsewhere@ZK.TEST not found in Kerberos database");
    check_words(named("zookeeper/localhost@OTHER.TEST"), "OTHER.TEST");
}

TEST_CASE("GSSAPI: why there is no token, in Kerberos's own words")
{
    auto& kdc = realm();
    check_words(start_with([](sasl_options&) {}), "No Kerberos credentials available (default cache: ");
    check_words(start_with([](sasl_options& o) { o.credential_cache = "/nowhere"; }),
                "No credentials cache found (credential cache /nowhere)");
    check_words(start_with([](sasl_options& o) { o.keytab = "/nowhere"; }),
                "Key table file '/nowhere' not found (keytab /nowhere)");
    check_words(start_with([](sasl_options& o) {
                    o.keytab = "/nowhere";
                    o.credential_cache = "/nowhere-either";
                }),
                "Key table file '/nowhere' not found (keytab /nowhere)");
    const temporary_directory here;
    const auto keytab_of = [&](const std::string& content) {
        const auto file = (here.path() / "keytab").string();
        std::ofstream(file) << content;
        return file;
    };
    for (const auto& [content, words] : std::map<std::string, std::string>{
             {"no keytab", "Unsupported key table format version number (keytab "},
             {"\5\2", "End of key table reached (keytab "}, // it has no key
         })
        check_words(start_with([&](sasl_options& o) { o.keytab = keytab_of(content); }), words);
    const auto gone = kdc.keytab("carol");
    kdc.remove("carol");
    check_words(start_with([&](sasl_options& o) { o.keytab = gone; }), "Client 'carol@ZK.TEST' not found");
    const auto old = kdc.keytab("dave");
    kdc.change_key("dave");
    check_words(start_with([&](sasl_options& o) { o.keytab = old; }),
                "Decrypt integrity check failed (keytab " + old + ")");
    const auto short_lived = kdc.tickets("alice", "1s");
    std::string why;
    wait_until("the ticket ends", default_limit, [&] {
        why = start_with([&](sasl_options& o) { o.credential_cache = short_lived; }).why;
        return !why.empty();
    });
    CHECK_MESSAGE(why.find("expired") != std::string::npos, why);
    const auto keys = kdc.keytab("alice");
    kdc.stop();
    check_words(start_with([&](sasl_options& o) { o.keytab = keys; }), "Cannot contact any KDC for realm 'ZK.TEST'");
    kdc.start();
}

TEST_CASE("GSSAPI: what who takes a KDC's place says is told in one line that no terminal obeys")
{
    auto& kdc = realm();
    const auto cache = kdc.tickets("alice");
    kdc.stop();
    {
        const false_kdc other(kdc.port(), false_kdc::something_else, "no\n\x1b[2J\xc2\x9bnever");
        const auto start = start_with([&](sasl_options& o) { o.credential_cache = cache; });
        check_words(start, "KDC returned error string: no??[2J??never");
        CHECK(start.why.find('\n') == std::string::npos);
    }
    {
        const false_kdc other(kdc.port(), false_kdc::clock_skew, "");
        check_words(start_with([&](sasl_options& o) { o.credential_cache = cache; }), "Clock skew too great");
    }
    kdc.start();
}

TEST_CASE("GSSAPI: tickets that were got with a keytab serve later connections, until a server refuses one")
{
    auto& kdc = realm();
    sasl_options options;
    options.mechanism = sasl_mechanism::gssapi;
    options.keytab = kdc.keytab("alice");
    // A file that was just written may have been changed without a trace, and is read again.
    std::filesystem::last_write_time(options.keytab,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    const sasl_credentials credentials(options);
    const auto first = start_sasl(credentials, localhost);
    REQUIRE(first.made);
    kdc.stop();
    const auto second = start_sasl(credentials, localhost);
    CAPTURE(second.why);
    REQUIRE(second.made);
    CHECK(second.made->first() != first.made->first()); // a token serves once
    const auto refusal = second.made->refused();        // perhaps the server has a new key
    CHECK(refusal.by == sasl_failure::unproved);
    CHECK(refusal.text == refused_ticket + "the next attempt gets a new one");
    check_words(start_sasl(credentials, localhost), "Cannot contact any KDC");
    kdc.start();
    const auto third = start_sasl(credentials, localhost);
    REQUIRE(third.made);
    CHECK(third.made->refused().by == sasl_failure::unproved); // the ticket is new, but clocks may differ
    REQUIRE(start_sasl(credentials, localhost).made);
    std::filesystem::copy_file(kdc.keytab("erin"), options.keytab, std::filesystem::copy_options::overwrite_existing);
    const auto renewed = start_sasl(credentials, localhost);
    REQUIRE(renewed.made);
    gssapi_acceptor server(kdc.server_keytab);
    (void)server.accept(renewed.made->first());
    CHECK(server.client() == "erin@ZK.TEST");
}

TEST_CASE("GSSAPI: a server that refuses the tickets of a cache may have a new key, or another time: that is not final")
{
    auto& kdc = realm();
    for (const bool with_keytab : {false, true}) {
        const auto start = start_with([&](sasl_options& o) {
            o.credential_cache = kdc.tickets("alice");
            if (with_keytab)
                o.keytab = kdc.keytab("alice");
        });
        CAPTURE(start.why);
        REQUIRE(start.made);
        const auto refusal = start.made->refused();
        CHECK(refusal.by == sasl_failure::unproved);
        CHECK(refusal.text == refused_ticket + "if that is newer, kinit gets new ones");
    }
}

TEST_SUITE_END();

TEST_CASE("a process that ends while its threads are in Kerberos's libraries" * doctest::skip())
{
    class endless final : public runtime::blocking_call {
    public:
        [[nodiscard]] bool wanted() const noexcept override { return true; }
        void run() noexcept override
        {
            for (;; ++turns)
                turn();
        }
        struct given_back { // by libraries that may be stopped there
            ~given_back()
            {
                const not_stopped_here whole;
                ::usleep(100);
            }
        };
        static void turn() // what unwinds the stack has to find the object before it finds `noexcept`
        {
            const stops_with_process here;
            const given_back last;
            (void)keytab_fault("/nowhere");
        }
        std::atomic<int> turns{0};
    };
    boost::asio::io_context io;
    for (std::size_t i = 0; i < kdc_calls::at_once; ++i) {
        const auto call = std::make_shared<endless>();
        boost::asio::use_service<kdc_calls>(io).begin(call, [](const char*) {});
        wait_until("it is made", default_limit, [&] { return call->turns > 2; });
    }
}

TEST_CASE("GSSAPI: the end of the process stops what is in Kerberos's libraries before they end themselves")
{
    const temporary_directory here;
    for (int i = 0; i < 30; ++i) {
        // What the libraries had for a call that is stopped goes with the process, and is no leak.
        child_process ends({"/usr/bin/env", "ASAN_OPTIONS=exitcode=66:detect_leaks=0",
                            std::filesystem::read_symlink("/proc/self/exe").string(), "--no-skip",
                            "--test-case=a process that ends while its threads are in Kerberos's libraries"},
                           here.path(), here.path() / "said");
        REQUIRE(ends.wait() == 0);
    }
}

TEST_CASE("credentials: the password is taken, and DIGEST-MD5 asks nobody")
{
    sasl_options options;
    options.mechanism = sasl_mechanism::digest_md5;
    options.user = "bob";
    options.password = "a password that is longer than what a string holds by itself";
    const sasl_credentials credentials(std::move(options));
    CHECK(options.password.empty()); // NOLINT: by the move
    CHECK_FALSE(credentials.may_block());
    CHECK(std::string(credentials.mechanism_name()) == "DIGEST-MD5");
    const auto start = start_sasl(credentials, {});
    REQUIRE(start.made);
    CHECK(start.made->first().empty());
}

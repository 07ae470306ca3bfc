// What two ends of a TLS connection say to each other, without sockets.
#include "tls/tls_scene.hpp"

#include <atomic>
#include <thread>

using namespace zklock::test;
using state = tls_engine::state;

namespace {

/// Whether a change of this byte of the records has to be noticed: those of their headers say nothing of their own, nor
/// does change_cipher_spec in TLS 1.3.
bool counts(const std::string& records, std::size_t which)
{
    constexpr std::size_t header = 5;
    for (std::size_t at = 0; at + header <= records.size();) {
        const std::size_t size =
            static_cast<unsigned char>(records[at + 3]) * 256u + static_cast<unsigned char>(records[at + 4]);
        if (which < at + header)
            return false;
        if (which < at + header + size)
            return records[at] != SSL3_RT_CHANGE_CIPHER_SPEC;
        at += header + size;
    }
    return false;
}

} // namespace

TEST_CASE("a handshake, and what both say afterwards")
{
    const tls_scene s;
    const auto context = s.load();
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        CAPTURE(name_of(version));
        tls_engine client(context, {"zk1", false});
        server_end server(s.server_named("DNS:zk1", version));
        CHECK(client.now_in() == state::handshaking);
        CHECK(client.pending().empty());
        CHECK_FALSE(client.write(std::string("too early")));
        std::string heard;
        exchange(client, server, &heard);
        CHECK(client.now_in() == state::open);
        CHECK(server.open());
        CHECK(server.version() == version);
        CHECK(server.name_wanted() == "zk1");
        CHECK(server.client_name().empty());
        CHECK(heard.empty()); // though a server of TLS 1.3 has sent tickets
        CHECK_FALSE(client.heard());

        const std::string much = patterned(3'000'000);
        CHECK(client.write(much));
        CHECK(client.pending().size() > much.size());
        server.write(much);
        exchange(client, server, &heard);
        CHECK(client.heard());
        CHECK(heard == much);
        CHECK(server.heard() == much);

        client.shut_down();
        CHECK_FALSE(client.write(std::string("too late")));
        exchange(client, server);
        CHECK(server.client_has_ended());
        CHECK(client.now_in() == state::open); // until the server says the same
        server.write("still here");
        server.shut_down();
        heard.clear();
        exchange(client, server, &heard);
        CHECK(heard == "still here");
        CHECK(client.now_in() == state::ended);
        CHECK(client.failure().empty());
        client.no_more({});
        CHECK(client.now_in() == state::ended);
    }
}

TEST_CASE("what comes and goes in single bytes is put together")
{
    const tls_scene s;
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        CAPTURE(name_of(version));
        tls_engine client(s.load(), {"zk1", false});
        server_end server(s.server_named("DNS:zk1", version));
        std::string heard;
        const auto all = [&] {
            for (bool more = true; more;) {
                client.advance();
                more = false;
                for (; !client.pending().empty(); more = true) {
                    server.put({client.pending().data(), 1});
                    client.sent(1);
                    server.work();
                }
                for (const char each : server.take()) {
                    more = true;
                    client.put({&each, 1});
                    client.advance();
                    char byte = 0;
                    while (client.read({&byte, 1}) == 1)
                        heard += byte;
                }
            }
        };
        all();
        CHECK(client.now_in() == state::open);
        CHECK(client.write(std::string("one")));
        CHECK(client.write(std::string("two")));
        CHECK(client.write({}));
        server.write("three");
        server.write("four");
        all();
        CHECK(server.heard() == "onetwo");
        CHECK(heard == "threefour");
    }
}

TEST_CASE("a server that changes its keys, and has the client change its own")
{
    const tls_scene s;
    tls_engine client(s.load(), {"zk1", false});
    server_end server(s.server_named("DNS:zk1"));
    exchange(client, server);
    std::string heard;
    for (const bool the_clients_too : {false, true, true}) {
        server.update_keys(the_clients_too);
        server.write("new");
        CHECK(client.write(std::string("N")));
        exchange(client, server, &heard);
    }
    CHECK(client.write(std::string("N")));
    exchange(client, server, &heard);
    CHECK(client.now_in() == state::open);
    CHECK(heard == "newnewnew");
    CHECK(server.heard() == "NNNN");
}

TEST_CASE("a client's certificate, with those between it and its authority")
{
    tls_scene s;
    const authority between = s.root.between("between");
    identity own = between.issue(with(&certificate_request::common_name, "shop"));
    own.certificate += between.certificate();
    s.show(own);
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        CAPTURE(name_of(version));
        tls_engine client(s.load(), {"zk1", false});
        server_end server(s.asking_server(version));
        exchange(client, server);
        CHECK(client.now_in() == state::open);
        CHECK(server.failure().empty());
        CHECK(server.client_name() == "CN=shop");
    }
}

TEST_CASE("a server that would like a certificate, and does without")
{
    const tls_scene s;
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        server_settings settings = s.asking_server(version);
        settings.client_needed = false;
        CHECK(outcome(s.load(), settings) == "open");
    }
}

TEST_CASE("a client without the certificate that a server needs is refused: with TLS 1.3 after its handshake")
{
    const tls_scene s;
    server_settings settings = s.asking_server(TLS1_2_VERSION);
    const std::string early = outcome(s.load(), settings);
    CAPTURE(early);
    CHECK(early.starts_with("the server refuses: "));
    CHECK(early.ends_with(" alert handshake failure (the client has no certificate to show)"));

    settings.version = TLS1_3_VERSION;
    tls_engine client(s.load(), {"zk1", false});
    server_end server(settings);
    client.advance();
    const auto carry = [&] {
        server.put({client.pending().data(), client.pending().size()});
        client.sent(client.pending().size());
        server.work();
        client.put(server.take());
    };
    carry();
    CHECK(client.advance() == state::open);
    CHECK(client.write(std::string("the first request")));
    carry();
    char byte = 0;
    CHECK(client.read({&byte, 1}) == 0);
    CHECK(client.now_in() == state::failed);
    CHECK(client.failure() ==
          "the server refuses: tlsv13 alert certificate required (the client has no certificate to show)");
    CHECK_FALSE(client.heard()); // so it is TLS that has failed
}

TEST_CASE("a client's certificate of a strange authority is refused")
{
    tls_scene s;
    s.show(authority("strange").issue({}));
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        CHECK(outcome(s.load(), s.asking_server(version)) == "the server refuses: tlsv1 alert unknown ca");
    }
}

TEST_CASE("a connection that breaks: when, and what the socket said")
{
    const tls_scene s;
    const auto context = s.load();
    {
        tls_engine client(context, {"zk1", false});
        client.advance();
        client.no_more({});
        CHECK(client.now_in() == state::failed);
        CHECK(client.failure() == "the server has hung up during the handshake (does its port speak TLS?)");
        client.no_more("again");
        CHECK(client.failure() == "the server has hung up during the handshake (does its port speak TLS?)");
        CHECK(client.advance() == state::failed);
    }
    tls_engine client(context, {"zk1", false});
    server_end server(s.server_named("DNS:zk1"));
    client.advance();
    server.put({client.pending().data(), client.pending().size()});
    server.work();
    const std::string half = server.take().substr(0, 100);
    client.put(half);
    client.advance();
    client.no_more("Connection reset by peer");
    CHECK(client.failure() == "Connection reset by peer during the handshake");

    tls_engine later(context, {"zk1", false});
    server_end other(s.server_named("DNS:zk1"));
    exchange(later, other);
    later.no_more({});
    CHECK(later.now_in() == state::failed);
    CHECK(later.failure() == "the server has hung up without saying so");
    char byte = 0;
    CHECK(later.read({&byte, 1}) == 0);
    CHECK_FALSE(later.write(std::string("x")));
}

TEST_CASE("what was changed on its way is no longer trusted")
{
    const tls_scene s;
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        tls_engine client(s.load(), {"zk1", false});
        server_end server(s.server_named("DNS:zk1", version));
        exchange(client, server);
        server.write("a grant");
        std::string changed = server.take();
        changed.back() = static_cast<char>(changed.back() ^ 1);
        client.put(changed);
        char byte = 0;
        CHECK(client.read({&byte, 1}) == 0);
        CHECK(client.now_in() == state::failed);
        CHECK(client.failure() == "decryption failed or bad record mac");
        CHECK_FALSE(client.pending().empty()); // the alert
    }
}

TEST_CASE("a handshake that was changed anywhere on its way does not succeed")
{
    const tls_scene s;
    const auto context = s.load();
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        CAPTURE(name_of(version));
        const server_settings settings = s.server_named("DNS:zk1", version);
        bool whole = false; // no byte was changed: all have been
        for (std::size_t at = 0; !whole; at += 11) {
            CAPTURE(at);
            tls_engine client(context, {"zk1", false});
            server_end server(settings);
            std::size_t passed = 0;
            bool matters = false;
            whole = true;
            // Two turns bring all that the server says until the handshake is over.
            for (int turn = 0; turn < 3 && client.advance() == state::handshaking; ++turn) {
                server.put({client.pending().data(), client.pending().size()});
                client.sent(client.pending().size());
                server.work();
                std::string answer = server.take();
                if (at >= passed && at - passed < answer.size()) {
                    whole = false;
                    matters = counts(answer, at - passed);
                    answer[at - passed] = static_cast<char>(answer[at - passed] ^ 0x10);
                }
                passed += answer.size();
                client.put(answer);
            }
            if (whole)
                CHECK(client.now_in() == state::open);
            else if (matters)
                CHECK(client.now_in() != state::open);
            if (client.now_in() == state::failed)
                CHECK_FALSE(client.failure().empty());
        }
    }
}

TEST_CASE("one context serves connections on several threads, and is loaded meanwhile")
{
    const tls_scene s;
    const auto context = s.load();
    const server_settings settings = s.server_named("DNS:zk1");
    std::atomic<int> opened{0}, refused{0}, loaded{0};
    std::vector<std::thread> threads;
    for (int each = 0; each < 4; ++each)
        threads.emplace_back([&, each] {
            for (int round = 0; round < 10; ++round) {
                tls_engine client(context, {each % 2 ? "zk1" : "zk2", false});
                server_end server(settings);
                exchange(client, server);
                ++(client.now_in() == state::open ? opened : refused);
                loaded += bridge::load_tls(s.options, context).context == context;
            }
        });
    for (auto& each : threads)
        each.join();
    CHECK(opened == 20);
    CHECK(refused == 20);
    CHECK(loaded == 40);
}

TEST_CASE("OpenSSL's errors of others do no harm, and none are left behind")
{
    const tls_scene s;
    const auto spoil = [] { ERR_raise(ERR_LIB_USER, 1); };
    const auto clean = [] { return ERR_peek_error() == 0; };
    spoil();
    const auto context = s.load();
    CHECK(clean());
    spoil();
    tls_engine client(context, {"zk1", false});
    CHECK(clean());
    server_end server(s.server_named("DNS:zk1"));
    const auto carry = [&] {
        server.put({client.pending().data(), client.pending().size()});
        spoil();
        client.sent(client.pending().size());
        server.work();
        const std::string answer = server.take();
        spoil();
        client.put(answer);
    };
    spoil();
    CHECK(client.advance() == state::handshaking); // it waits for more, which is no error
    CHECK(clean());
    carry();
    CHECK(client.advance() == state::open);
    carry();
    char byte = 0;
    spoil();
    CHECK(client.read({&byte, 1}) == 0);
    CHECK(client.now_in() == state::open);
    CHECK(clean());
    spoil();
    CHECK(client.write(std::string("x")));
    CHECK(clean());
    spoil();
    client.shut_down();
    CHECK(clean());
    client.put(std::string("no record"));
    CHECK(client.read({&byte, 1}) == 0);
    CHECK(client.now_in() == state::failed);
    CHECK(clean());
}

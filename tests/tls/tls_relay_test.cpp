// What stands between the C client and a server: one end of a pair of sockets here, one of a TCP connection there.
#include "bridge/wire/pair_relay.hpp"
#include "support/polling.hpp"
#include "tls/tls_scene.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

using namespace zklock::test;
using bridge::pair_relay;

namespace {

/// All that can be read there now.
std::string read_all(int fd)
{
    std::string all;
    std::array<char, 32 * 1024> buffer;
    for (;;) {
        const auto got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got <= 0)
            return all;
        all.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

/// How much of it can be written there now.
std::size_t write_some(int fd, std::string_view text)
{
    std::size_t written = 0;
    while (written < text.size()) {
        const auto took = ::send(fd, text.data() + written, text.size() - written, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (took <= 0)
            break;
        written += static_cast<std::size_t>(took);
    }
    return written;
}

bool has_ended(int fd)
{
    char byte = 0;
    return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/// A relay, its server, and what lies between the two: a stream with little room.
struct relay_scene {
    explicit relay_scene(const tls_scene& s, const server_settings& settings, const std::string& name = "zk1")
        : between(std::make_unique<tls_engine>(s.load(), bridge::server_name{name, false})), server(settings)
    {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
        near_ = unique_fd(ends[0]);
        far_ = unique_fd(ends[1]);
    }

    [[nodiscard]] int near() const { return near_.get(); }

    /// The server takes what has come, and answers.
    void serve()
    {
        server.put(read_all(far_.get()));
        server.work();
        pass_on();
    }
    /// What the server has to say leaves, as far as there is room.
    void pass_on()
    {
        unsent += server.take();
        unsent.erase(0, write_some(far_.get(), unsent));
    }
    void server_hangs_up() { far_.reset(); }
    /// As long as the socket is readable.
    void bring_in_all()
    {
        for (pollfd p{near(), POLLIN, 0}; between.now_in() == pair_relay::state::open && ::poll(&p, 1, 0) == 1;)
            between.bring_in(near());
    }

    /// Until it is decided.
    pair_relay::state shake_hands()
    {
        pair_relay::state now = between.shake_hands(near());
        for (int i = 0; i < 10 && now == pair_relay::state::handshaking; ++i) {
            serve();
            now = between.shake_hands(near());
        }
        serve();
        return now;
    }
    void open()
    {
        REQUIRE(shake_hands() == pair_relay::state::open);
        client = unique_fd(::fcntl(between.open_pair(), F_DUPFD_CLOEXEC, 0));
        REQUIRE(client.get() != -1);
        between.close_clients_end();
    }

    pair_relay between;
    server_end server;
    unique_fd client; ///< the C client's end
    std::string unsent;

private:
    unique_fd near_, far_;
};

} // namespace

TEST_CASE("small and large amounts arrive whole, in both directions and both versions, whoever is full meanwhile")
{
    const tls_scene s;
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION})
        for (const std::size_t size : {std::size_t{1}, std::size_t{16 * 1024}, std::size_t{2'000'003}}) {
            CAPTURE(name_of(version));
            CAPTURE(size);
            relay_scene r(s, s.server_named("DNS:zk1", version));
            r.open();
            const std::string sent = patterned(size);
            std::string heard;
            r.server.write(sent);
            std::size_t written = 0;
            bool held_input = false, held_output = false;
            for (int round = 0; round < 10'000 && (heard.size() < size || r.server.heard().size() < size); ++round) {
                written += write_some(r.client.get(), std::string_view(sent).substr(written));
                r.between.bring_out(r.near());
                held_output = held_output || r.between.holds_output();
                if (round % 8 == 0)
                    r.serve();
                r.between.bring_in(r.near());
                held_input = held_input || r.between.holds_input();
                if (round % 8 == 4)
                    heard += read_all(r.client.get());
            }
            CHECK(heard == sent);
            CHECK(r.server.heard() == sent);
            CHECK(held_input == (size > 1'000'000));
            CHECK(held_output == (size > 1'000'000));
            CHECK_FALSE(r.between.holds_output());
            CHECK(r.between.now_in() == pair_relay::state::open);
        }
}

TEST_CASE("what is written for a server that reads nothing waits, in no more than a certain room")
{
    const tls_scene s;
    relay_scene r(s, s.server_named("DNS:zk1"));
    r.open();
    const std::string sent = patterned(4'000'000);
    std::size_t written = 0;
    for (int round = 0; round < 100; ++round) {
        written += write_some(r.client.get(), std::string_view(sent).substr(written));
        r.between.bring_out(r.near());
    }
    CHECK(r.between.holds_output());
    CHECK(written < 2'000'000); // the two pairs of sockets, and 80 KiB
    for (int round = 0; round < 10'000 && r.server.heard().size() < written; ++round) {
        r.serve();
        r.between.bring_out(r.near());
    }
    CHECK(r.server.heard() == std::string_view(sent).substr(0, written));
}

TEST_CASE("a server that hangs up: the C client reads what came before, and then the end")
{
    const tls_scene s;
    for (const bool in_good_order : {true, false}) {
        CAPTURE(in_good_order);
        relay_scene r(s, s.server_named("DNS:zk1"));
        r.open();
        r.server.write("the last word");
        if (in_good_order)
            r.server.shut_down();
        r.pass_on();
        r.server_hangs_up();
        r.bring_in_all();
        CHECK(r.between.now_in() == pair_relay::state::ended);
        CHECK_FALSE(r.between.has_failed());
        CHECK(r.between.why().empty() == in_good_order);
        CHECK(read_all(r.client.get()) == "the last word");
        CHECK(has_ended(r.client.get()));
        write_some(r.client.get(), "too late");
        r.between.bring_out(r.near()); // SIGPIPE would end the process
        r.between.say_goodbye(r.near());
    }
}

TEST_CASE("a server that hangs up without a word, after the handshake, has not failed by TLS")
{
    const tls_scene s;
    relay_scene r(s, s.server_named("DNS:zk1"));
    r.open();
    r.server_hangs_up();
    r.bring_in_all();
    CHECK(r.between.now_in() == pair_relay::state::ended);
    CHECK_FALSE(r.between.has_failed());
    CHECK(has_ended(r.client.get()));
}

TEST_CASE("a server that hangs up in the handshake, and one whose certificate is refused, have")
{
    const tls_scene s;
    SUBCASE("hung up") {
        relay_scene r(s, s.server_named("DNS:zk1"));
        CHECK(r.between.shake_hands(r.near()) == pair_relay::state::handshaking);
        r.server_hangs_up();
        CHECK(r.between.shake_hands(r.near()) == pair_relay::state::ended);
        CHECK(r.between.has_failed());
        CHECK(r.between.why().find("during the handshake") != std::string::npos);
    }
    SUBCASE("refused") {
        relay_scene r(s, s.server_named("DNS:another"));
        CHECK(r.shake_hands() == pair_relay::state::ended);
        CHECK(r.between.has_failed());
        CHECK_FALSE(r.between.why().empty());
        CHECK(r.server.failure().find("alert") != std::string::npos); // it was told
    }
}

TEST_CASE("a server that has spoken, and then sends a record that was changed: that is a loss, and no failure of TLS")
{
    const tls_scene s;
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        relay_scene r(s, s.server_named("DNS:zk1", version));
        r.open();
        r.server.write("a word");
        r.pass_on();
        r.bring_in_all();
        CHECK(r.between.now_in() == pair_relay::state::open);
        r.server.write("another");
        r.unsent = r.server.take();
        r.unsent.back() = static_cast<char>(r.unsent.back() ^ 1);
        r.pass_on();
        r.bring_in_all();
        CHECK(r.between.now_in() == pair_relay::state::ended);
        CHECK_FALSE(r.between.has_failed());
        CHECK(r.between.why() == "decryption failed or bad record mac");
        CHECK(read_all(r.client.get()) == "a word");
        CHECK(has_ended(r.client.get()));
    }
}

TEST_CASE("a server of TLS 1.3 that refuses the client after the handshake, and says nothing, has failed by TLS")
{
    const tls_scene s;
    relay_scene r(s, s.asking_server());
    CHECK(r.shake_hands() == pair_relay::state::open); // as the client sees it
    REQUIRE(r.between.open_pair() != -1);
    r.serve();
    r.bring_in_all();
    CHECK(r.between.now_in() == pair_relay::state::ended);
    CHECK(r.between.has_failed());
    CHECK(r.between.why().find("alert") != std::string::npos);
}

TEST_CASE("all that the C client has written before it went leaves with the goodbye")
{
    const tls_scene s;
    relay_scene r(s, s.server_named("DNS:zk1"));
    r.open();
    write_some(r.client.get(), "close, please");
    r.client.reset();
    r.between.say_goodbye(r.near());
    CHECK_FALSE(r.between.holds_output());
    r.serve();
    CHECK(r.server.heard() == "close, please");
    CHECK(r.server.client_has_ended());
}

TEST_CASE("the C client's end is closed by exec, and does not block")
{
    const tls_scene s;
    relay_scene r(s, s.server_named("DNS:zk1"));
    REQUIRE(r.shake_hands() == pair_relay::state::open);
    const int end = r.between.open_pair();
    REQUIRE(end != -1);
    CHECK((::fcntl(end, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK((::fcntl(end, F_GETFL) & O_NONBLOCK) != 0);
    char byte = 0;
    CHECK(::recv(end, &byte, 1, 0) == -1);
    CHECK(errno == EAGAIN);
}

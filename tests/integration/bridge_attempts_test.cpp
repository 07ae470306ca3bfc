// program: bridge
// What an attempt to connect may meet, and what may be asked of a server in it.
#include "integration/bridge_client.hpp"
#include "support/proxy.hpp"

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <limits>

using namespace zklock::test;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using namespace std::string_literals;

namespace {

struct foreign_answer {
    std::string bytes;
    std::string shown;                                                       ///< in the log, up to the end or more
    std::string said = " is no ZooKeeper server: its answer begins with \""; ///< before it
};

const std::string is_for_tls = " is a port for TLS, and client_options::tls is off: ";

/// The whole answer of a server of 3.8: a session of 10 s.
const std::string session_answer = "\0\0\0\x25\0\0\0\0\0\0\x27\x10\x01\0\0\0\0\0\0\x01\0\0\0\x10passwordpassword\0"s;

std::string changed(std::size_t at, char to)
{
    std::string answer = session_answer;
    answer[at] = to;
    return answer;
}

const std::vector<foreign_answer> foreign_answers = {
    {"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 400 Bad Request\\x0d\\x0aCont"},
    {"SSH-2.0-OpenSSH_9.2p1\r\n", "SSH-2.0-OpenSSH_9.2p1\\x0d\\x0a"},
    {"+", "+"},
    {"\x15\x03\x03\0\x02\x02\x50"s, "it answers with an alert of TLS", is_for_tls},
    {"\x15\x03\x01\0\x02\x02\x46"s, "it answers with an alert of TLS", is_for_tls}, // of TLS 1.0
    {"\x15\x02\x03\0\x02\x02\x50"s, "\\x15\\x02\\x03\\x00\\x02\\x02P"},
    {"\x16\x03\x03\0\x02\x02\x50"s, "\\x16\\x03\\x03\\x00\\x02\\x02P"}, // of TLS, and no alert
    {std::string(64, '\0'), "\\x00\\x00\\x00\\x00"},
    {std::string(1'000'000, 'x'), "xxxxxxxx"},
    {changed(3, '\x29'), "\\x00\\x00\\x00)"},
    {changed(7, '\x01'), "\\x00\\x00\\x00%\\x00\\x00\\x00\\x01"},
    {changed(23, '\x11'), "\\x00\\x00\\x00%"},
};

/// What a stranger does when it has answered.
enum class after { silence, hang_up };

std::string at(const port_lease& port)
{
    return "127.0.0.1:" + std::to_string(port.port());
}

tcp::endpoint endpoint(std::uint16_t port)
{
    return {asio::ip::address_v4::loopback(), port};
}

/// Somebody else, at an address where the client looks for a server: says its piece to whoever comes. Goes before the
/// client.
class stranger {
public:
    stranger(bridge_client& c, const port_lease& port, std::string answer, after then = after::silence)
        : answer_(std::move(answer)), then_(then), acceptor_(c.context(), endpoint(port.port()))
    {
        accept();
    }

private:
    void accept()
    {
        acceptor_.async_accept([this](const error_code& ec, tcp::socket socket) {
            if (ec)
                return;
            const auto guest = std::make_shared<tcp::socket>(std::move(socket));
            asio::async_write(*guest, asio::buffer(answer_), [this, guest](const error_code&, std::size_t) {
                error_code ignored; // it may be gone
                if (then_ == after::hang_up)
                    guest->shutdown(tcp::socket::shutdown_both, ignored);
                guests_.push_back(guest);
            });
            accept();
        });
    }

    std::string answer_;
    after then_;
    tcp::acceptor acceptor_;
    std::vector<std::shared_ptr<tcp::socket>> guests_;
};

/// Between one client and a server, whose bytes it passes on one by one. Goes before the client.
class trickle {
public:
    trickle(bridge_client& c, const port_lease& port, std::uint16_t server)
        : acceptor_(c.context(), endpoint(port.port())), upstream_(c.context()), client_(c.context())
    {
        upstream_.connect(endpoint(server));
        acceptor_.async_accept(client_, [this](const error_code& ec) {
            if (ec)
                return;
            client_.set_option(tcp::no_delay(true));
            pass_up();
            pass_down();
        });
    }

private:
    void pass_up()
    {
        client_.async_read_some(asio::buffer(up_), [this](const error_code& ec, std::size_t size) {
            if (ec) {
                upstream_.close();
                return;
            }
            asio::write(upstream_, asio::buffer(up_, size));
            pass_up();
        });
    }
    void pass_down()
    {
        asio::async_read(upstream_, asio::buffer(down_), [this](const error_code& ec, std::size_t) {
            error_code gone;
            if (!ec)
                asio::write(client_, asio::buffer(down_), gone);
            if (ec || gone)
                client_.close(gone);
            else
                pass_down();
        });
    }

    tcp::acceptor acceptor_;
    tcp::socket upstream_, client_;
    std::array<char, 1024> up_{};
    std::array<char, 1> down_{};
};

} // namespace

TEST_CASE("the longest session time-outs: what the C client can reckon with is asked for, granted, and kept")
{
    constexpr milliseconds largest{std::numeric_limits<std::int32_t>::max()};
    constexpr milliseconds longest{(1 << 30) - 1};
    zookeeper_server own(with(&server_options::max_session_timeout, largest));
    for (const auto asked : {longest, longest + 1ms, largest}) {
        CAPTURE(asked.count());
        proxy between{own.port()};
        connected_bridge_client c{options_for(between.address(), asked)};
        CHECK(c.session_timeout == longest);
        CHECK(c.sync("/") == outcome::ok);
        const auto session = c.session;
        between.cut();
        c.wait_connected(2);
        CHECK(c.session == session);
        CHECK(c.sync("/") == outcome::ok);
        c.close();
    }
}

TEST_CASE("what answers and is no ZooKeeper is named, and never taken for one")
{
    for (const auto& answer : foreign_answers) {
        CAPTURE(answer.bytes);
        port_lease port;
        bridge_client c{options_for(at(port))};
        stranger other(c, port, answer.bytes);
        const auto line = at(port) + answer.said + answer.shown;
        c.run_until([&] { return c.said(line) >= 2; });
        CHECK(c.lines.empty());
        c.close();
    }
}

TEST_CASE("a session survives others that answer at its servers' addresses meanwhile")
{
    for (const auto& answer : foreign_answers) {
        CAPTURE(answer.bytes);
        proxy between{server().port()};
        port_lease port;
        auto options = options_for(between.address() + ',' + at(port), 60s);
        options.connect_backoff = options.connect_backoff_limit = 50ms;
        bridge_client c{options};
        stranger other(c, port, answer.bytes);
        c.wait_connected();
        const auto session = c.session;
        const auto before = c.said(answer.said);
        between.refuse();
        between.cut();
        c.run_until([&] { return c.said(answer.said) >= before + 3; });
        between.accept();
        c.wait_connected(2);
        CHECK(c.session == session);
        CHECK(c.expiries == 0);
        CHECK_FALSE(c.was_renewed);
        CHECK(c.sync("/") == outcome::ok);
        c.close();
    }
}

TEST_CASE("who hangs up without an answer, and who never gives one, is named")
{
    for (const std::string& bytes : {std::string{}, session_answer.substr(0, 5), session_answer.substr(0, 23)}) {
        CAPTURE(bytes.size());
        port_lease port;
        bridge_client c{options_for(at(port))};
        stranger other(c, port, bytes, after::hang_up);
        c.run_until([&] { return c.said(at(port) + " closed the connection without an answer") >= 2; });
        CHECK(c.said("or is a port for TLS: client_options::tls is off") >= 2);
        CHECK(c.lines.empty());
        c.close();
    }
    for (const std::string& bytes : {std::string{}, session_answer.substr(0, 5)}) {
        CAPTURE(bytes.size());
        port_lease port;
        bridge_client c{options_for(at(port), 1500ms)}; // an attempt has a third of it
        stranger other(c, port, bytes, after::silence);
        c.run_until([&] { return c.said(at(port) + " accepted the connection and did not answer in time") >= 1; });
        CHECK(c.lines.empty());
        c.close();
    }
}

TEST_CASE("a server's answer that comes byte by byte is one all the same")
{
    port_lease port;
    bridge_client c{options_for(at(port), 60s)};
    trickle slow(c, port, server().port());
    c.wait_connected();
    CHECK(c.said("is no ZooKeeper server") == 0);
    CHECK(c.sync("/") == outcome::ok);
    c.close();
}

TEST_CASE("no server at the start, and one later; attempts become rarer")
{
    proxy refusing{1}; // nobody serves port 1: it accepts and hangs up
    auto options = options_for(refusing.address());
    options.connect_backoff = 20ms;
    options.connect_backoff_limit = 200ms;
    bridge_client c{options};
    auto start = steady_clock::now();
    c.run_until([&] { return refusing.accepted() >= 10; });
    // After the first attempt: up to 20 ms, then 40, 80, 160, then 200 ms each, all down to two thirds by jitter.
    CHECK(steady_clock::now() - start >= 800ms);
    CHECK(refusing.accepted() == 10);
    CHECK(c.lines.empty());
    CHECK_FALSE(c.log.empty());
    c.close();
}

TEST_CASE("a back-off without a limit grows, and is no hot loop")
{
    proxy refusing{1};
    auto options = options_for(refusing.address());
    options.connect_backoff = 20ms;
    options.connect_backoff_limit = std::chrono::milliseconds::max();
    bridge_client c{options};
    auto start = steady_clock::now();
    c.run_until([&] { return refusing.accepted() >= 7; });
    CHECK(steady_clock::now() - start >= 800ms); // up to 20; 40, 80, 160, 320, 640 ms, all down to two thirds by jitter
    c.close();
}

TEST_CASE("while a session may be taken up again, no back-off keeps from it")
{
    proxy between{server().port()};
    auto options = options_for(between.address(), 16s);
    options.connect_backoff = 1h;
    options.connect_backoff_limit = 1h;
    connected_bridge_client c{options};
    const auto session = c.session;
    between.cut(); // the server did answer: it is asked again
    c.wait_connected(2);
    between.refuse();
    between.cut();
    c.run_until([&, before = c.said("refused")] { return c.said("refused") > before; });
    between.accept();
    c.wait_connected(3);
    CHECK(c.session == session);
    c.close();
}

TEST_CASE("a connection that only reads, or whose writes are refused, is not one of use, however long it lives")
{
    proxy between{server().port()};
    auto options = options_for(between.address(), 4s);
    options.connect_backoff = 200ms;
    options.connect_backoff_limit = 10s;
    connected_bridge_client c{options};
    const milliseconds long_enough = 4s / 4 + 50ms; // for one of use
    for (std::size_t lost = 1; lost <= 4; ++lost) {
        const auto end = steady_clock::now() + long_enough;
        do {
            CHECK(c.exists("/").result == outcome::ok);
            CHECK(c.remove("/attempts/missing") == outcome::no_node);
        } while (steady_clock::now() < end);
        const auto cut = steady_clock::now();
        between.cut();
        c.wait_connected(1 + lost);
        // At once; then up to 200 ms; then up to 400 ms, and more than two thirds of that.
        if (lost >= 3)
            CHECK(between.accepted_at().back() - cut >= 266ms);
    }
    c.close();
}

TEST_CASE("with two servers, of which one is dead, the other is found at once")
{
    port_lease dead;
    auto options = options_for("127.0.0.1:" + std::to_string(dead.port()) + ',' + server().address());
    options.connect_backoff = 60s; // so that a whole cycle in vain would be noticed
    options.connect_backoff_limit = 60s;
    for (int i = 0; i < 10; ++i) {
        bridge_client c{options};
        auto start = steady_clock::now();
        c.wait_connected();
        CHECK(steady_clock::now() - start < 20s); // a third of the back-off
        c.close();
    }
}

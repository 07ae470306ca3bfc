#pragma once
#include "support/admin_client.hpp"

#include <memory>

namespace zklock::test {

/// Which way a frame travels.
enum class direction { requests, replies };

/// Where on its way a request with its reply is when a rule strikes.
enum class moment {
    request,  ///< the request arrived here; the server has not seen it
    reply,    ///< the server has answered; the client has not seen it
    delivered ///< the client has the reply (only with fate::cut)
};

/// What a rule does with the frame.
enum class fate {
    cut,   ///< closes both sides of the connection, after everything that came before the frame was passed on
    hold,  ///< keeps it, and everything behind it, until release()
    drop,  ///< swallows it; the connection goes on
    refuse ///< answers a request, the only one on its way, with an error: see refuse_next()
};

/// A request as it passed: the parts of a multi follow it, each on its own.
struct seen_request {
    opcode op{};
    std::string path; ///< the first path in it, if any
    bool in_multi = false;
};

/// What the clients of a proxy and their server speak.
enum class speech {
    zookeeper,
    tls ///< its frames are records, opcode::tls_record: those of clients are requests, and those of the server replies
};

/// Stands between clients and one server, understands ZooKeeper's framing, and misbehaves as told. Of TLS it sees what
/// is to be seen on the wire: where a record ends.
///
/// Works on a thread of its own; every member may be called from any thread. What the settings say holds for
/// connections to come too. Waiting members throw when their limit passes.
class proxy {
public:
    /// Its connections come to the server from that address of the loopback interface, such as 127.0.0.2, or else from
    /// 127.0.0.1.
    explicit proxy(std::uint16_t server_port, std::optional<std::string> comes_from = std::nullopt,
                   speech spoken = speech::zookeeper);
    ~proxy();
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;

    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port()); }

    /// Closes all connections; new ones are welcome.
    void cut();
    /// New connections are refused, those that exist stay.
    void refuse();
    /// Ends refuse(); the port is the same.
    void accept();
    /// Nothing passes that way any more, and nobody is told: what comes is kept. New connections are accepted.
    void block(direction way);
    /// Both ways.
    void block();
    /// Ends block(): what was kept goes on.
    void unblock();
    /// Every frame that arrives from now on takes so much longer.
    void delay(direction way, milliseconds time);

    /// Strikes once, at the request of that kind that passes after `skip` others of it, on any connection.
    void on_next(opcode op, moment at, fate what, std::size_t skip = 0);
    /// The next request of that kind, the only one on its way, is answered with that error, and not done.
    void refuse_next(opcode op, std::int32_t code);
    /// Until every on_next() has struck.
    void wait_struck(milliseconds limit = default_limit);
    /// Whether every on_next() has struck.
    [[nodiscard]] bool struck() const;
    /// Passes on what fate::hold kept.
    void release();

    /// What has been asked since the start or the last forget(), connects and pings included.
    [[nodiscard]] std::vector<seen_request> history() const;
    /// How often; parts of multis are not counted, their multi is. opcode::any: all but connects and pings.
    [[nodiscard]] std::size_t count(opcode op) const;
    /// How often inside multis.
    [[nodiscard]] std::size_t count_in_multis(opcode op) const;
    void forget();
    /// Until there were `count` of them since the last forget().
    void wait_for_request(opcode op, std::size_t count = 1, milliseconds limit = default_limit);

    [[nodiscard]] std::size_t connections() const; ///< open now
    [[nodiscard]] std::size_t accepted() const;    ///< since the start
    [[nodiscard]] std::vector<steady_clock::time_point> accepted_at() const;
    void wait_accepted(std::size_t count, milliseconds limit = default_limit);

    /// All bytes that have come here, a direction of a connection after the other. Only with speech::tls.
    [[nodiscard]] std::string captured() const;

    /// The sessions that were opened or resumed through here, in the order of their first appearance.
    [[nodiscard]] std::vector<session_credentials> sessions() const;
    /// Makes the server end the session (the last one seen, if none is given), then cuts, so that its client notices.
    /// Nobody can connect meanwhile: the client would take its session back.
    void expire_session(std::optional<std::int64_t> id = std::nullopt);

private:
    class relay;
    std::unique_ptr<relay> relay_;
};

} // namespace zklock::test

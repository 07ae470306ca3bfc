#pragma once
#include "support/proxy.hpp"

#include <array>
#include <deque>

namespace zklock::test {

/// An on_next() that has not struck yet.
struct proxy_rule {
    opcode op{};
    moment at{};
    fate what{};
    std::size_t skip = 0;
    std::int32_t code = 0; ///< with fate::refuse
};

/// What all connections of a proxy obey and report to. Guarded by the proxy's mutex.
struct proxy_state {
    std::array<bool, 2> blocked{};
    std::array<milliseconds, 2> delays{};
    std::vector<proxy_rule> rules{};
    std::vector<seen_request> history{};
    std::vector<session_credentials> sessions{};
    speech spoken = speech::zookeeper;
    std::deque<std::string> captured{}; ///< by each lane; none goes as long as the proxy is there
    std::uint64_t releases = 0;         ///< counts release(): a frame is held until the count passes the one it noted
};

/// One client's connection and its way on to the server.
class proxy_connection {
public:
    proxy_connection(unique_fd client, unique_fd server, proxy_state& state);
    proxy_connection(const proxy_connection&) = delete; // its lanes point into it
    proxy_connection& operator=(const proxy_connection&) = delete;

    /// What poll() should watch: {client, server}, each with its events, or -1 for none.
    [[nodiscard]] std::array<std::pair<int, short>, 2> interest() const;
    /// Reads what there is, parses it, and passes on what may go.
    void turn();
    /// When the next delayed frame is due; max() for none.
    [[nodiscard]] steady_clock::time_point next_due() const;
    [[nodiscard]] bool over() const noexcept { return over_ || (requests_.closed && replies_.closed); }

private:
    struct frame {
        std::string bytes;
        steady_clock::time_point due;
        std::uint64_t held_at = never_held;
        bool cut_after = false;
    };
    /// One direction.
    struct lane {
        direction way;
        unique_fd* from;
        unique_fd* to;
        std::string* captured = nullptr; ///< if all that comes is kept
        std::string input{};
        std::deque<frame> frames{};
        std::size_t written = 0; ///< of the first frame
        bool ended = false;      ///< nothing more comes in
        bool closed = false;     ///< and everything went out, or cannot
        bool full = false;       ///< the peer takes no more for now
    };
    static constexpr std::uint64_t never_held = ~std::uint64_t{0};

    void read(lane& l);
    void parse(lane& l);
    void parse_tls(lane& l);
    opcode read_frame(const lane& l, std::string_view body);
    void pass(lane& l, std::string bytes);
    void write(lane& l);
    [[nodiscard]] bool may_go(const lane& l, const frame& f) const;

    opcode read_request(std::string_view body);
    opcode read_reply(std::string_view body);
    void record_multi(wire_reader& in);
    void record_session(wire_reader& in);
    std::optional<proxy_rule> strike(opcode op, moment at);

    proxy_state& state_;
    unique_fd client_, server_;
    lane requests_, replies_;
    bool connect_requested_ = false, connect_answered_ = false;
    bool cutting_ = false; ///< a cut is on its way: what arrives is no longer parsed
    bool over_ = false;
    std::deque<std::pair<std::int32_t, opcode>> unanswered_;
};

} // namespace zklock::test

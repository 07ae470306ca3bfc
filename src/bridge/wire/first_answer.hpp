#pragma once
#include <cstdint>
#include <string>

namespace zklock::bridge {

/// What a server has sent on a connection of which nothing was read yet.
struct first_answer {
    enum class kind : std::uint8_t {
        incomplete, ///< nothing, or the beginning of what a ZooKeeper server answers first
        session,    ///< enough of such an answer to tell it from everything else
        foreign,    ///< what no ZooKeeper server answers
        tls_alert,  ///< neither that: a port for TLS has been asked for something else
        none        ///< it has closed the connection before that
    };
    kind what = kind::incomplete;
    std::string begins;       ///< its first bytes, made printable
    std::int64_t session = 0; ///< which it speaks of; none, if the one that was asked for is over
};

/// Looks at that, and leaves it to be read. While it is incomplete, the socket becomes readable only with the next
/// byte; when it is a session, with any byte.
[[nodiscard]] first_answer look_at_first_answer(int fd);

/// Ends a connection at once. What it has received and was not read can never be read.
void disconnect(int fd) noexcept;

} // namespace zklock::bridge

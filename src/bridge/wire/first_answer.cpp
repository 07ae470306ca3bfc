#include "bridge/wire/first_answer.hpp"
#include "bridge/wire/readiness.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include <sys/socket.h>

// The C client believes whatever it reads first: 41 bytes of an HTTP server's error would be a session, or the end of
// the one that it had.

namespace zklock::bridge {

namespace {

// What is known of a ConnectResponse: its length, with or without the flag that servers before 3.4 do not know; the
// protocol's version; the session's time-out, and its number; the length of its password.
constexpr std::size_t length_end = 4;
constexpr std::size_t version_end = 8;
constexpr std::size_t time_out_end = 12;
constexpr std::size_t session_end = 20;
constexpr std::size_t header_end = 24;
constexpr std::size_t most_shown = 32;

/// The byte that every ConnectResponse has at that place, or -1 where they differ.
constexpr int expected(std::size_t i)
{
    if (i < length_end)
        return i + 1 < length_end ? 0 : -1; // the last byte is looked at by itself
    if (i < version_end)
        return 0;
    if (i < session_end)
        return -1;
    return i + 1 < header_end ? 0 : 16;
}

bool may_begin_a_session(std::string_view bytes)
{
    for (std::size_t i = 0; i < std::min(bytes.size(), header_end); ++i)
        if (const int wanted = expected(i); wanted != -1 && static_cast<unsigned char>(bytes[i]) != wanted)
            return false;
    return bytes.size() < length_end || bytes[length_end - 1] == 36 || bytes[length_end - 1] == 37;
}

/// A record of the type alert, of any version of TLS, and of SSL 3.
bool begins_an_alert(std::string_view bytes) { return bytes.starts_with("\x15\x03"); }

std::string printable(std::string_view bytes)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes.substr(0, most_shown)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
            text += c;
        } else {
            text += "\\x";
            text += digits[byte >> 4];
            text += digits[byte & 15];
        }
    }
    return text;
}

std::int64_t session_in(std::string_view bytes)
{
    std::uint64_t number = 0;
    for (const char c : bytes.substr(time_out_end, session_end - time_out_end))
        number = number << 8 | static_cast<unsigned char>(c);
    return static_cast<std::int64_t>(number);
}

void wake_when_there_are(int fd, std::size_t bytes)
{
    const int least = static_cast<int>(bytes);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

} // namespace

first_answer look_at_first_answer(int fd)
{
    using kind = first_answer::kind;
    std::array<char, std::max(header_end, most_shown)> buffer;
    const bool ended = is_ready(fd, POLLRDHUP); // before the look, so that nothing comes between
    const auto got = ::recv(fd, buffer.data(), buffer.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0)
        return {errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? kind::incomplete : kind::none, {}, 0};
    const std::string_view bytes{buffer.data(), static_cast<std::size_t>(got)};
    if (!may_begin_a_session(bytes))
        return {begins_an_alert(bytes) ? kind::tls_alert : kind::foreign, printable(bytes), 0};
    if (bytes.size() >= header_end) {
        wake_when_there_are(fd, 1);
        return {kind::session, {}, session_in(bytes)};
    }
    if (ended || bytes.empty())
        return {kind::none, printable(bytes), 0};
    wake_when_there_are(fd, bytes.size() + 1);
    return {kind::incomplete, printable(bytes), 0};
}

void disconnect(int fd) noexcept
{
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    if (::connect(fd, &nobody, sizeof nobody) == 0)
        return;
    // One end of a pair: nothing more can come, and nothing that came is left.
    ::shutdown(fd, SHUT_RDWR);
    std::array<char, 4096> dropped;
    while (::recv(fd, dropped.data(), dropped.size(), MSG_DONTWAIT) > 0) {
    }
}

} // namespace zklock::bridge

#include "bridge/wire/first_answer.hpp"
#include "bridge/wire/connect_response.hpp"
#include "bridge/wire/readiness.hpp"

#include <boost/endian/conversion.hpp>

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

namespace layout = connect_response;

constexpr std::size_t most_shown = 32;

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

void wake_when_there_are(int fd, std::size_t bytes)
{
    const int least = static_cast<int>(bytes);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

} // namespace

first_answer look_at_first_answer(int fd)
{
    using kind = first_answer::kind;
    std::array<unsigned char, std::max(layout::header_end, most_shown)> buffer;
    const bool ended = is_ready(fd, POLLRDHUP); // before the look, so that nothing comes between
    const auto got = ::recv(fd, buffer.data(), buffer.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0)
        return {errno == EAGAIN || errno == EINTR ? kind::incomplete : kind::none, {}, 0};
    const std::string_view bytes{reinterpret_cast<const char*>(buffer.data()), static_cast<std::size_t>(got)};
    if (!layout::may_begin(bytes))
        // A record of the type alert, of any version of TLS, and of SSL 3.
        return {bytes.starts_with("\x15\x03") ? kind::tls_alert : kind::foreign, printable(bytes), 0};
    if (bytes.size() >= layout::header_end) {
        wake_when_there_are(fd, 1);
        return {kind::session, {}, boost::endian::load_big_s64(buffer.data() + layout::time_out_end)};
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

#pragma once
#include <algorithm>
#include <cstddef>
#include <string_view>

namespace zklock::bridge::connect_response {

// What is known of the answer to a request for a session: its length, with or without the flag that servers before 3.4
// do not know; the protocol's version; the session's time-out, and its number; the length of its password.
inline constexpr std::size_t length_end = 4;
inline constexpr std::size_t version_end = 8;
inline constexpr std::size_t time_out_end = 12;
inline constexpr std::size_t session_end = 20;
inline constexpr std::size_t header_end = 24;
inline constexpr unsigned char length_without_flag = 36;

/// The byte that every such answer has at that place, or -1 where they differ.
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

/// Says whether that may be its beginning.
[[nodiscard]] constexpr bool may_begin(std::string_view bytes)
{
    for (std::size_t i = 0; i < std::min(bytes.size(), header_end); ++i)
        if (const int wanted = expected(i); wanted != -1 && static_cast<unsigned char>(bytes[i]) != wanted)
            return false;
    if (bytes.size() < length_end)
        return true;
    const auto length = static_cast<unsigned char>(bytes[length_end - 1]);
    return length == length_without_flag || length == length_without_flag + 1;
}

} // namespace zklock::bridge::connect_response

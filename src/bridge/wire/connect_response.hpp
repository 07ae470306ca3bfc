#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace zklock::bridge::connect_response {

// What is known of the answer to a request for a session: its length, with or without the flag that servers before 3.4
// do not know; the protocol's version; the session's time-out, and its number; the length of its password.
inline constexpr std::size_t length_end = 4;
inline constexpr std::size_t version_end = 8;
inline constexpr std::size_t time_out_end = 12;
inline constexpr unsigned char length_without_flag = 36;
inline constexpr int any = -1; // the last byte of the length is looked at by itself
inline constexpr std::array header{0,   0,   0,   any, 0,   0,   0,   0,   any, any, any, any,
                                   any, any, any, any, any, any, any, any, 0,   0,   0,   16};
inline constexpr std::size_t header_end = header.size();

/// Says whether that may be its beginning.
[[nodiscard]] constexpr bool may_begin(std::string_view bytes)
{
    for (std::size_t i = 0; i < std::min(bytes.size(), header_end); ++i)
        if (header[i] != any && static_cast<unsigned char>(bytes[i]) != header[i])
            return false;
    if (bytes.size() < length_end)
        return true;
    const auto length = static_cast<unsigned char>(bytes[length_end - 1]);
    return length == length_without_flag || length == length_without_flag + 1;
}

} // namespace zklock::bridge::connect_response

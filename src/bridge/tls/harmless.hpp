#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace zklock::bridge {

/// What a stranger may have written, for a line of the log: its beginning, followed by `more` if that is not all, and
/// no character that a terminal would obey.
[[nodiscard]] inline std::string harmless(std::string_view text, std::size_t longest, std::string_view more)
{
    std::string shown(text.substr(0, longest));
    std::ranges::replace_if(
        shown, [](unsigned char c) { return c < ' ' || c >= 0x7f; }, '?');
    if (text.size() > longest)
        shown += more;
    return shown;
}

} // namespace zklock::bridge

#include "store/path_check.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace zklock::store {

namespace {

constexpr bool is_forbidden(char c) noexcept
{
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Looks at many characters at a time: the compiler makes one step of those in the inner loop.
bool has_forbidden(std::string_view text) noexcept
{
    constexpr std::size_t at_once = 16;
    if (text.size() < at_once)
        return std::any_of(text.begin(), text.end(), is_forbidden);
    std::array<unsigned char, at_once> found{};
    for (std::size_t at = 0; at < text.size(); at += at_once) {
        const auto step = text.substr(std::min(at, text.size() - at_once)); // the last goes back to be a whole one
        for (std::size_t i = 0; i < at_once; ++i)
            found[i] |= is_forbidden(step[i]);
    }
    const auto [first, second] = std::bit_cast<std::array<std::uint64_t, 2>>(found);
    return (first | second) != 0;
}

} // namespace

bool is_valid_path(std::string_view path, bool sequential) noexcept
{
    if (!path.starts_with('/') || has_forbidden(path))
        return false;
    if (path.size() == 1)
        return true;
    for (std::size_t at = 1; at <= path.size();) {
        const auto slash = std::min(path.find('/', at), path.size());
        const auto name = path.substr(at, slash - at);
        const bool numbered = sequential && slash == path.size();
        if (!numbered && (name.empty() || name == "." || name == ".."))
            return false;
        at = slash + 1;
    }
    return true;
}

} // namespace zklock::store

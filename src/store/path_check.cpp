#include "store/path_check.hpp"

#include <algorithm>
#include <cstddef>

namespace zklock::store {

namespace {

constexpr bool is_forbidden(char c) noexcept
{
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

} // namespace

bool is_valid_path(std::string_view path, bool sequential) noexcept
{
    if (!path.starts_with('/') || std::ranges::any_of(path, is_forbidden))
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

#include "bridge/node_path.hpp"

#include <algorithm>

namespace zklock::bridge {

bool is_valid_path(std::string_view path, bool sequential) noexcept
{
    if (!path.starts_with('/') ||
        std::any_of(path.begin(), path.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
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

} // namespace zklock::bridge

#include "queue/node_path.hpp"

#include <boost/locale/utf.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zklock::queue {
namespace {

namespace utf = boost::locale::utf;

constexpr std::size_t longest_path = 4096;
/// The ranges of org.apache.zookeeper.common.PathUtils, which sees what lies beyond 0xffff as surrogates: forbidden.
bool forbidden(std::uint32_t c) noexcept
{
    return c <= 0x1f || (c >= 0x7f && c <= 0x9f) || (c >= 0xd800 && c <= 0xf8ff) || c >= 0xfff0;
}

path_fault fault_of_component(std::string_view component) noexcept
{
    if (component == "." || component == "..")
        return "it has a component \".\" or \"..\"";
    for (auto at = component.begin(); at != component.end();) {
        const std::uint32_t c = utf::utf_traits<char>::decode(at, component.end());
        if (!utf::is_valid_codepoint(c))
            return "it is not UTF-8";
        if (forbidden(c))
            return "it has a control character, or another one that ZooKeeper forbids";
    }
    return std::nullopt;
}

/// Several times as fast as rfind(). npos if there is none.
std::size_t last_slash(std::string_view path) noexcept
{
    const void* const slash = path.empty() ? nullptr : ::memrchr(path.data(), '/', path.size());
    return slash ? static_cast<std::size_t>(static_cast<const char*>(slash) - path.data()) : path.npos;
}

} // namespace

path_fault find_node_path_fault(std::string_view path) noexcept
{
    if (path.empty())
        return "it is empty";
    if (path.front() != '/')
        return "it is relative: it does not begin with '/'";
    if (path.size() == 1)
        return "it is the root";
    if (path.size() > longest_path)
        return "it is longer than 4096 bytes";
    do {
        path.remove_prefix(1);
        const std::string_view component = path.substr(0, path.find('/'));
        path.remove_prefix(component.size());
        if (component.empty())
            return path.empty() ? "it ends with '/'" : "it has an empty component: \"//\"";
        if (const auto fault = fault_of_component(component))
            return fault;
    } while (!path.empty());
    return std::nullopt;
}

std::string_view parent_of(std::string_view path) noexcept
{
    return path.substr(0, last_slash(path));
}

std::string child_of(std::string_view parent, std::string_view name)
{
    std::string path;
    child_of(parent, name, path);
    return path;
}

void child_of(std::string_view parent, std::string_view name, std::string& path)
{
    path.clear(); // or else reserve() copies what was in it
    path.reserve(parent.size() + 1 + name.size());
    path.append(parent).append(1, '/').append(name);
}

std::string_view name_of(std::string_view path) noexcept
{
    return path.substr(last_slash(path) + 1); // npos + 1 is 0
}

} // namespace zklock::queue

namespace zklock {

std::optional<std::string_view> find_path_fault(std::string_view path, std::string_view chroot) noexcept
{
    constexpr std::string_view servers_own = "/zookeeper";
    const std::string_view begins = chroot.empty() || chroot == "/" ? path : chroot;
    if (const auto fault = queue::find_node_path_fault(path))
        return fault;
    if (begins.starts_with(servers_own) && (begins.size() == servers_own.size() || begins[servers_own.size()] == '/'))
        return "it is in /zookeeper, which is the servers' own";
    return std::nullopt;
}

} // namespace zklock

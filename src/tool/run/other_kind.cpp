#include "tool/run/other_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;

/// Whether a name is that of a sequential node: the contenders of all mutexes are such.
bool has_number(std::string_view name)
{
    constexpr std::size_t digits = 10;
    return name.size() >= digits &&
           name.substr(name.size() - digits).find_first_not_of("0123456789") == std::string_view::npos;
}

asio::awaitable<bool> has_contender(client zk, std::string node)
{
    auto reading = zk.children(std::move(node));
    const result<std::vector<std::string>> names = co_await std::move(reading);
    co_return !names.has_error() && std::ranges::any_of(names.value(), has_number);
}

} // namespace

asio::awaitable<void> warn_of_other_kind(client zk, lock_choice granted, voice& out)
{
    const bool permit = granted.limit != 0;
    auto looking = has_contender(zk, permit ? granted.path : granted.path + "/leases");
    const bool found = co_await std::move(looking);
    if (!found)
        co_return;
    const std::string_view other = permit ? "a mutex" : "a semaphore";
    out.warn("other_kind", {{"path", granted.path}, {"other", other}},
             fmt::format("{} is in use as {}, too: that keeps nobody out of {} (--limit makes the difference)",
                         granted.path, other, permit ? "a semaphore" : "a mutex"));
}

} // namespace zklock::tool

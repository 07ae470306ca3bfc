#include "recipes/semaphore/semaphore_layout.hpp"

#include "queue/node_name.hpp"

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace zklock::recipes {

semaphore_layout::semaphore_layout(const std::string& path, naming n)
    : line(path + (n == naming::curator ? "/locks" : "-__lock__")),
      permits(n == naming::curator ? path + "/leases" : path), names(n)
{
}

mutex_options semaphore_layout::options_of_line(const semaphore_options& own) const
{
    mutex_options in_line;
    in_line.names = names;
    in_line.parents = own.parents;
    in_line.identifier = own.identifier;
    in_line.properties = own.properties;
    in_line.access = own.access;
    return in_line;
}

store::node_kind semaphore_layout::kind() const noexcept
{
    return names == naming::curator ? store::node_kind::ephemeral_sequential : store::node_kind::ephemeral;
}

std::string semaphore_layout::node_name(std::string_view uuid) const
{
    if (names == naming::curator)
        return std::string("_c_").append(uuid).append("-lease-");
    std::string hex(uuid);
    std::erase(hex, '-');
    return hex;
}

bool semaphore_layout::made_from(std::string_view asked, std::string_view child) const noexcept
{
    return names == naming::curator ? child.starts_with(asked) : child == asked;
}

std::size_t semaphore_layout::longest_name() const
{
    const std::size_t number = names == naming::curator ? queue::sequence_digits + 1 : 0; // it may be negative
    return node_name(std::string(36, 'x')).size() + number;
}

std::string first_permit(const std::vector<std::string>& permits)
{
    const auto first = std::ranges::min_element(permits, {}, digits_of);
    return first == permits.end() ? std::string() : *first;
}

std::string_view digits_of(std::string_view permit)
{
    return permit.substr(permit.size() - std::min(permit.size(), queue::sequence_digits));
}

std::optional<std::int64_t> number_in(std::string_view text)
{
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

std::string count_data(std::int32_t count)
{
    std::array<unsigned char, 4> data{};
    boost::endian::store_big_s32(data.data(), count);
    return {data.begin(), data.end()};
}

std::optional<std::int32_t> count_of(std::string_view data) noexcept
{
    if (data.size() != 4)
        return std::nullopt;
    return boost::endian::load_big_s32(reinterpret_cast<const unsigned char*>(data.data()));
}

} // namespace zklock::recipes

#include "queue/owner_data.hpp"

#include <algorithm>

namespace zklock::queue {

bool valid_owner_data(std::string_view identifier, const owner_data::properties& more) noexcept
{
    constexpr auto npos = std::string_view::npos;
    std::size_t size = identifier.size();
    for (const auto& [key, value] : more) {
        if (key.empty() || key.find_first_of("=\n") != npos || value.find('\n') != npos)
            return false;
        size += key.size() + value.size() + 2;
    }
    return size <= longest_owner_data && identifier.find('\n') == npos &&
           (identifier != revocation_request || !more.empty());
}

std::string write_owner_data(std::string_view identifier, const owner_data::properties& more)
{
    std::string data(identifier);
    for (const auto& [key, value] : more)
        data.append("\n").append(key).append("=").append(value);
    return data;
}

owner_data read_owner_data(std::string_view data)
{
    owner_data read;
    read.revoked = data == revocation_request;
    if (read.revoked)
        return read;
    data = data.substr(0, longest_owner_data);
    const auto next_line = [&data] {
        const std::size_t end = std::min(data.find('\n'), data.size());
        const std::string_view line = data.substr(0, end);
        data.remove_prefix(std::min(end + 1, data.size()));
        return line;
    };
    read.identifier = next_line();
    while (!data.empty()) {
        const std::string_view line = next_line();
        const std::size_t sign = line.find('=');
        if (sign != std::string_view::npos && sign != 0)
            read.more.emplace(line.substr(0, sign), line.substr(sign + 1));
    }
    return read;
}

} // namespace zklock::queue

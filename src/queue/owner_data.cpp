#include "queue/owner_data.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace zklock::queue {

std::string write_owner_data(std::string_view identifier, const owner_data::properties& more)
{
    std::string data(identifier);
    for (const auto& [key, value] : more)
        data.append("\n").append(key).append("=").append(value);
    return data;
}

bool looks_like_endpoint(std::string_view text) noexcept
{
    constexpr std::size_t longest = 64;
    constexpr unsigned largest_port = 65535;
    const std::size_t colon = text.rfind(':');
    if (text.size() > longest || colon == text.npos || colon == 0)
        return false;
    std::string_view host = text.substr(0, colon);
    const char* const end = text.data() + text.size();
    unsigned port = 0;
    const auto [last, error] = std::from_chars(text.data() + colon + 1, end, port);
    if (error != std::errc() || last != end || port == 0 || port > largest_port)
        return false;
    const bool six = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (six)
        host = host.substr(1, host.size() - 2);
    const std::string_view allowed = six ? "0123456789abcdefABCDEF:." : "0123456789.";
    return host.find_first_not_of(allowed) == host.npos;
}

std::string with_handoff(std::string_view data, std::string_view endpoint)
{
    std::string all(data);
    if (data.size() + handoff_key.size() + endpoint.size() + 2 <= longest_owner_data)
        all.append("\n").append(handoff_key).append("=").append(endpoint);
    return all;
}

std::string_view handoff_of(std::string_view data) noexcept
{
    data = data.substr(0, longest_owner_data);
    for (std::size_t end = data.find('\n'); end != data.npos; end = data.find('\n')) {
        data.remove_prefix(end + 1);
        const std::string_view line = data.substr(0, data.find('\n'));
        if (!line.starts_with(handoff_key) || line.substr(handoff_key.size()).substr(0, 1) != "=")
            continue;
        if (const auto value = line.substr(handoff_key.size() + 1); looks_like_endpoint(value))
            return value;
    }
    return {};
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
        const bool of_us = line.substr(0, sign) == handoff_key && looks_like_endpoint(line.substr(sign + 1));
        if (sign != std::string_view::npos && sign != 0 && !of_us)
            read.more.emplace(line.substr(0, sign), line.substr(sign + 1));
    }
    return read;
}

} // namespace zklock::queue

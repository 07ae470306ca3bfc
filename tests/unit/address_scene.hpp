#pragma once
// Addresses for the tests of the connector, which looks at their texts and names, and at the family.
#include "bridge/names/server_address.hpp"

namespace zklock::test {

inline bridge::address_ptr address_called(const std::string& text, const std::vector<std::string>& names = {})
{
    auto made = std::make_shared<bridge::server_address>();
    made->text = text;
    made->socket.any.sa_family = text.starts_with('[') ? AF_INET6 : AF_INET;
    for (const auto& name : names)
        made->given.push_back({name, 2181, false});
    return made;
}

inline std::vector<bridge::address_ptr> addresses(const std::vector<std::string>& texts)
{
    std::vector<bridge::address_ptr> all;
    for (const auto& text : texts)
        all.push_back(address_called(text));
    return all;
}

} // namespace zklock::test

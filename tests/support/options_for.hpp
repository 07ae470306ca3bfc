#pragma once
#include "zklock/client_options.hpp"

#include <string>

namespace zklock::test {

/// The usual options, of a client of those servers.
inline client_options options_for(const std::string& servers)
{
    client_options options;
    options.servers = servers;
    return options;
}

} // namespace zklock::test

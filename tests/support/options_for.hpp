#pragma once
#include "zklock/client_options.hpp"

#include <string>
#include <type_traits>
#include <utility>

namespace zklock::test {

/// Options that differ from the defaults in one, or in more: with(&mutex_options::linger, 1h, &mutex_options::mark,
/// "x"). What they inherit says for whom: with<election_options>(&election_options::linger, 1h).
template <class Options = void, class Of, class Value, class... More>
[[nodiscard]] auto with(Value Of::*which, std::type_identity_t<Value> value, More... more)
{
    std::conditional_t<std::is_void_v<Options>, Of, Options> options;
    if constexpr (sizeof...(more) != 0)
        options = with<decltype(options)>(std::move(more)...);
    options.*which = std::move(value);
    return options;
}

/// The usual options, of a client of those servers.
inline client_options options_for(const std::string& servers)
{
    return with(&client_options::servers, servers);
}
inline client_options options_for(const std::string& servers, std::chrono::milliseconds session_timeout)
{
    return with(&client_options::servers, servers, &client_options::session_timeout, session_timeout);
}

} // namespace zklock::test

#include "adapter/client/unopened_client.hpp"

#include "adapter/client/client_log.hpp"
#include "adapter/client/options_check.hpp"
#include "store/tell_listener.hpp"
#include "zklock/errc.hpp"

#include <unistd.h>

#include <array>
#include <string>
#include <utility>

namespace zklock::detail {

namespace {

/// Who we are; where the options do not say, `host:pid`.
std::string identifier_of(const client_options& options)
{
    if (!options.identifier.empty())
        return options.identifier;
    std::array<char, 256> name{};
    const bool known = ::gethostname(name.data(), name.size() - 1) == 0;
    return std::string(known ? name.data() : "localhost") + ":" + std::to_string(::getpid());
}

/// Of a client that has no session yet.
store::log_function log_without_session(const client_options& options)
{
    return client_log(options.log, identifier_of(options), [] { return std::int64_t{0}; });
}

} // namespace

unopened_client::unopened_client(client_options options) : fault_(check(options))
{
    options_.emplace(std::move(options));
}

/// Where nobody runs the executor, this is the only line: it says what is missing.
void unopened_client::tell_made() const
{
    const auto log = log_without_session(*options_);
    store::logger{log}(log_level::info, "made for ", options_->servers,
                       ": it connects as soon as a thread runs its executor");
}

void unopened_client::tell_fault()
{
    tell("the client cannot be used: ", to_string(*fault_), fault());
}

void unopened_client::tell_failure(std::string_view words, const error_code& why) noexcept
{
    if (options_)
        tell("the client has failed before it could connect: ", words, why);
}

/// `why` is what everything that is asked of it ends with from now on.
void unopened_client::tell(std::string_view what, std::string_view words, const error_code& why) noexcept
{
    const auto options = std::exchange(options_, std::nullopt);
    store::log_function log;
    try {
        log = log_without_session(*options);
    } catch (...) { // NOLINT: as where memory fails for a line
    }
    const store::logger to(log);
    to(log_level::error, what, words);
    if (options->listener)
        store::tell_listener(*options->listener,
                             connection_event{connection_state::failed, 0, lease_clock::now(), 0, why}, to);
}

client_options unopened_client::to_open_with(std::function<std::int64_t()> session) const
{
    client_options own = *options_;
    own.identifier = identifier_of(own);
    own.log = client_log(std::move(own.log), own.identifier, std::move(session));
    return own;
}

} // namespace zklock::detail

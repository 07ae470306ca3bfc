#pragma once
// What all subcommands are told: which servers, as whom, and how to say what they have to say.
#include <zklock/client_options.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace zklock::tool {

/// As they were given.
struct connection_arguments {
    connection_arguments() = default;

    std::string servers = "127.0.0.1:2181";
    std::optional<double> session_timeout; ///< in seconds, as all that follows
    double server_tick = 2;
    double connect_timeout = 10;
    std::vector<std::string> auth; ///< SCHEME:CREDENTIAL
    std::string acl = "open";
    std::string name;
    tls_options tls;
    sasl_options sasl; ///< without the password
    std::string sasl_password_file;
    bool json = false;
};

/// Arguments that cannot be used, in words.
class usage_error : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Adds the options to a subcommand. `to` has to live until the arguments are parsed.
void add_connection_arguments(CLI::App& app, connection_arguments& to);

/// Seconds as a duration; one that is too long for it is the longest.
[[nodiscard]] std::chrono::milliseconds seconds(double value);

/// A check for CLI11: 0 or more seconds, with a fraction if need be.
[[nodiscard]] CLI::Validator is_seconds();

/// The options of a client. @throws usage_error
[[nodiscard]] client_options options_of(const connection_arguments& given);

/// What the library says of its options, such as `session_timeout is 0 ms`, in words of the tool: `--session-timeout is
/// 0 s`.
[[nodiscard]] std::string in_options(const std::string& text);

/// Whether the options can be used, and the path is one. @throws usage_error
void check(const client_options& options);
void check_path(const std::string& path);

} // namespace zklock::tool

#pragma once
#include "tool/program/connection_arguments.hpp"

#include <zklock/client_options.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::tool {

/// What ZKLOCK_LOG in the environment asks for, if anything. Throws usage_error if it is no level.
[[nodiscard]] std::optional<log_level> wished_log_level();

/// What a client's log says, for the reasons of what fails. ZKLOCK_LOG in the environment has it written to stderr, as
/// it does in all programs. It has to outlive the client.
class client_log {
public:
    client_log();
    client_log(const client_log&) = delete;
    client_log& operator=(const client_log&) = delete;

    /// To be called before the client is made of the options.
    client_options attached_to(client_options options);
    /// The client is connected: what it had to say until then was no trouble after all.
    void connected();
    /// The last line that may be the reason of a failure, without the client's name; empty if there is none.
    [[nodiscard]] std::string trouble() const { return in_options(fault_.empty() ? trouble_ : fault_); }

    /// What was granted with the last connection, such as `new session 0x100012ab, time-out 10.000 s`.
    [[nodiscard]] const std::string& session() const { return session_; }

private:
    void note(log_level level, std::string_view line);

    std::function<void(log_level, std::string_view)> written_;
    log_level most_written_ = log_level::error;
    bool connected_ = false;
    std::string fault_; ///< of an option: what comes of it is told later, and less
    std::string trouble_;
    std::string session_;
};

} // namespace zklock::tool

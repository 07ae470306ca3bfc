#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::bridge {

enum class sasl_failure : std::uint8_t {
    none,
    refused,   ///< the server does not accept the identity, and said so
    unproved,  ///< it has not refused the identity, but has not proved to know it either
    disagreed, ///< it speaks another mechanism, or none
    broken     ///< it said what is no part of the exchange, or has hung up in it
};

/// What a mechanism says to a server's answer.
struct sasl_step {
    enum class kind : std::uint8_t {
        token, ///< `text` is to be sent, even if it is empty
        done,  ///< both have proved who they are; nothing may be sent
        failed ///< `text` says why, in words
    };
    kind what = kind::done;
    std::string text{};
    sasl_failure by = sasl_failure::none;
};

[[nodiscard]] inline sasl_step failed_step(sasl_failure by, std::string why)
{
    return {sasl_step::kind::failed, std::move(why), by};
}

/// The server has answered nothing where it should have proved something. A server without SASL does so, and one that
/// lets in whom it refuses (`allowSaslFailedClients`).
[[nodiscard]] inline sasl_step unanswered_step(sasl_failure by)
{
    return failed_step(by, "the server has no SASL, or lets in whom it refuses");
}

/// One exchange by which the client and one server prove to each other who they are. It serves one connection, since a
/// server takes a token once.
///
/// Not thread-safe: all calls come one after the other, each from any thread. No call blocks or asks anybody.
class mechanism {
public:
    mechanism& operator=(mechanism&&) = delete;
    virtual ~mechanism() = default;

    /// What the client sends first. It was made before the server was dialed.
    [[nodiscard]] virtual const std::string& first() const noexcept = 0;
    /// Takes the server's next answer. No answer at all looks like an empty one. Is not called after `done`, `failed`.
    [[nodiscard]] virtual sasl_step step(std::string_view challenge) = 0;
    /// The server has refused what was sent last: what that means, as a step that has failed.
    [[nodiscard]] virtual sasl_step refused() = 0;
};

} // namespace zklock::bridge

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client_options.hpp"
#include "zklock/mutex_options.hpp"
#include "zklock/semaphore_options.hpp"
#include "zklock/shared_mutex_options.hpp"

#include <optional>
#include <string>

namespace zklock {

/// An option that is out of range, or does not go with another one: why operations end with `errc::invalid_option`.
struct option_fault {
    option_fault() = default; // no aggregate: see client_options
    /// A fault of these three.
    option_fault(std::string the_option, std::string the_value, std::string what_is_accepted);

    std::string option;   ///< the member's name, such as `session_timeout`
    std::string value;    ///< what it is, such as `50 ms`; of credentials, nothing that is secret
    std::string accepted; ///< what it has to be, in words
};

/// One line: `session_timeout is 50 ms, and has to be 100 ms to 2147483647 ms`.
[[nodiscard]] std::string to_string(const option_fault&);

/// The first option that every operation would refuse, if there is one. Nothing is connected, and nothing looked up:
/// so a program can check its configuration at the start. From any thread.
///
///     if (const auto fault = zklock::find_fault(options))
///         throw std::runtime_error("zookeeper: " + to_string(*fault));
///
/// What only turns out later is told by `client_options::log`, at level error, with the same words: servers that grant
/// a session too short for a lease, and options that contradict those of another lock of the client on the same path.
[[nodiscard]] std::optional<option_fault> find_fault(const client_options&);
/// The first wrong option of a mutex, a re-entrant mutex or an election. (Where `identifier` is empty, an acquire
/// writes the client's into its node: properties that just fit by themselves may be too long together with that one.)
[[nodiscard]] std::optional<option_fault> find_fault(const mutex_options&);
/// The first wrong option of a shared mutex, re-entrant or not.
[[nodiscard]] std::optional<option_fault> find_fault(const shared_mutex_options&);
/// The first wrong option of a semaphore.
[[nodiscard]] std::optional<option_fault> find_fault(const semaphore_options&);

} // namespace zklock

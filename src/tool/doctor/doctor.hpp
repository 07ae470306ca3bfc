#pragma once
#include "tool/doctor/findings.hpp"
#include "tool/program/connection_arguments.hpp"

#include <zklock/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>

namespace zklock::tool {

/// `zklock doctor`: looks at all that a lock needs, and says what is wrong. `path` may be empty. Gives the exit status.
int doctor(const connection_arguments& connection, const std::string& path);

/// Its parts, in its order. Each server by itself; false if none can be used.
[[nodiscard]] boost::asio::awaitable<bool> examine_servers(const connection_arguments& connection, findings& found);
/// Whether that server, which `zk` is connected to, takes us for whom we say we are by SASL.
[[nodiscard]] boost::asio::awaitable<void> examine_identity(client zk, std::string server, sasl_mechanism mechanism,
                                                            findings& found);
/// Whether a lock can be had: a lock of its own is acquired for a moment, beside `path`.
[[nodiscard]] boost::asio::awaitable<void> examine_lease(client zk, double drift, std::string path, findings& found);
/// Who may use the path.
[[nodiscard]] boost::asio::awaitable<void> examine_access(client zk, std::string path, findings& found);
/// What somebody who wants the lock waits for.
[[nodiscard]] boost::asio::awaitable<void> examine_queue(client zk, std::string path, findings& found);

} // namespace zklock::tool

#pragma once
#include "tool/program/connection_arguments.hpp"
#include "tool/program/voice.hpp"

#include <zklock/client.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace zklock::tool {

/// Says that there is no connection, or why none will do, and gives the status to end with.
int tell_unconnected(voice& out, const std::string& servers, error_code why, const std::string& reason);

/// Waits until the client is connected and is answered, for that time, 0 being any. Gives why it is not: servers also
/// take the session of a client that they demand other authentication of, and refuse whatever it asks.
[[nodiscard]] boost::asio::awaitable<error_code> connect(client zk, std::chrono::milliseconds limit);

/// Says that something has failed, and gives the status to end with.
int tell_failed(voice& out, const std::string& what, error_code why);

/// Connects a client, runs a subcommand with it, and closes it. Gives the exit status.
int run_with_client(const connection_arguments& given, voice& out,
                    const std::function<boost::asio::awaitable<int>(client)>& program);

/// The same for a subcommand that tells its result on stdout: the status is `failed`, which it says, if not all of that
/// could be written.
int report_with_client(const connection_arguments& given, voice& out,
                       const std::function<boost::asio::awaitable<int>(client)>& program);

} // namespace zklock::tool

#pragma once
#include "support/polling.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace zklock::test {

/// A server's answer to one of its four-letter words, such as "srvr". Throws when it does not answer.
std::string four_letter_word(std::uint16_t port, const std::string& word, milliseconds limit = milliseconds{30'000});

/// "standalone", "leader", "follower", or empty when the server does not serve.
std::string server_mode(std::uint16_t port);

/// All watches that clients have set on this server, of data, of existence and of children, as "mntr" counts them.
/// ("wchs" leaves out those of children.)
std::size_t watch_count(std::uint16_t port);

/// The paths with watches of data or of existence, each with the sessions that set them. Nobody tells where those of
/// children are: "wchp" and "wchc" leave them out.
std::map<std::string, std::vector<std::int64_t>> watches(std::uint16_t port);

/// The ephemeral nodes of each session that has any. Ask the leader: followers may lag.
std::map<std::int64_t, std::vector<std::string>> ephemerals(std::uint16_t port);
std::size_t ephemeral_count(std::uint16_t port);

/// The sessions that are connected to this server.
std::vector<std::int64_t> connected_sessions(std::uint16_t port);

/// What "mntr" tells, by its names, such as "zk_znode_count".
std::map<std::string, std::string> monitor(std::uint16_t port);

} // namespace zklock::test

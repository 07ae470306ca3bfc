#pragma once
#include <filesystem>
#include <istream>
#include <string>
#include <string_view>

namespace zklock::chaos {

// Locks stand on one history that all servers agree on. ZooKeeper does not always keep it. A follower that loses its
// leader may go on writing its log (ZOOKEEPER-4712, mended in 3.9.3). One that catches up may acknowledge what it has
// not written yet (ZOOKEEPER-4785, mended in 3.9.2), or pass on a history with holes (ZOOKEEPER-4925, in 3.9.3 alone).
// Then a write is lost that was answered, or a member keeps a node for ever that all others have deleted, and a client
// of that member waits for it for ever.

/// The first line of a member's log that says that its nodes are others than the leader's, or nothing.
[[nodiscard]] std::string different_data(std::istream& log);

/// Whether a transaction log in that folder of a member has a node with such data: also one that was proposed alone.
/// (Of a transaction that was refused, a log has no data.)
[[nodiscard]] bool was_written(const std::filesystem::path& folder, std::string_view data);

} // namespace zklock::chaos

#pragma once
#include <istream>
#include <string>

namespace zklock::chaos {

/// Shows in a member's log whether the servers have kept one history, which is what the locks stand on. ZooKeeper until
/// 3.8.3 and 3.9.1 does not always: a follower that loses its leader may go on writing its log (ZOOKEEPER-4712), and
/// one that catches up may acknowledge what it has not written yet (ZOOKEEPER-4785). Then a committed write is gone, or
/// a member keeps a node for ever that all others have deleted, and whoever waits for it there waits for ever.
///
/// Gives the first line of the log that tells of that, or nothing.
[[nodiscard]] std::string broken_history(std::istream& log);

} // namespace zklock::chaos

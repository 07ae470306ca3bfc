#pragma once
#include <chrono>
#include <string>
#include <vector>

namespace demo {

struct crowd_settings {
    std::vector<std::string> servers; ///< ADDRESS:PORT of each; buyers take turns
    int buyers = 15;
    std::chrono::seconds patience{60}; ///< of each, for an answer
    bool watch_queue = false;
};

/// Buyers who all order one unit at the same moment, on this thread. Prints what became of each, in the order in which
/// they had the lock, and with `watch_queue` who queued. Returns whether everybody got an answer.
/// @throws std::invalid_argument: that is no address of a server
bool buy_all_at_once(const crowd_settings&);

} // namespace demo

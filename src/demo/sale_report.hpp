#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace demo {

/// What became of one buyer, as the order server told it.
struct purchase {
    std::string buyer;
    std::string server;
    std::string outcome;
    bool answered = false; ///< sold, or told that there is nothing left
    bool sold = false;
    std::int64_t order = 0;   ///< its number in the database, 0 for none
    std::int64_t token = 0;   ///< 0 without the lock
    std::int64_t session = 0; ///< that held the lock; 0 without it
    int stock_read = 0;
    int stock_written = 0;
    double waited_ms = 0;
    double held_ms = 0;
};

/// Who queued at one moment, the holder first.
struct queue_view {
    double at_ms = 0;
    std::vector<std::string> buyers;
    std::size_t sessions = 0; ///< how many of ZooKeeper's they have
};

/// Prints some of the views, from the longest queue on. Nothing when nobody ever queued.
void print_queue(const std::vector<queue_view>&);

/// Prints a table, in the order of the tokens where there are some, and a line that adds it up. Returns whether
/// everybody got an answer.
bool print_purchases(std::vector<purchase>);

} // namespace demo

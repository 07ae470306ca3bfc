#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace zklock::chaos {

struct holders_options {
    std::vector<std::string> servers;    ///< of each client; the n-th client acquires path_of(n), twice
    std::string events;                  ///< the file that it appends to: `what n time token lease`
    std::int64_t session_timeout = 2000; ///< milliseconds
    std::int64_t server_tick = 200;      ///< likewise
};

/// A process of clients that each take one lock and keep it until it is lost or SIGTERM comes; a second contender of
/// the same client waits behind it. It notes `held` and `lost`, or `held-second` and `lost-second`. Returns the exit
/// status.
int run_holders(const holders_options& options);

} // namespace zklock::chaos

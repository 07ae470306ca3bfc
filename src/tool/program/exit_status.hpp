#pragma once

namespace zklock::tool {

/// What the tool ends with, unless it is with a command's own status. The manual lists them; scripts rely on them.
enum exit_status : int {
    succeeded = 0,
    found_wrong = 1,     ///< `doctor` has found something; `revoke` and `break` have found nobody
    usage = 120,         ///< arguments that it cannot use
    busy = 121,          ///< somebody else has the lock, or waits for it (-n)
    no_connection = 122, ///< no server could be reached, or none has answered in time
    lock_lost = 123,     ///< the lock was lost, and the command stopped
    timed_out = 124,     ///< others had the lock, or were first, until the time was over (-w)
    failed = 125,        ///< anything else that went wrong in the tool, or was refused by the servers
    not_executable = 126,
    not_found = 127,
    signal_base = 128 ///< and the number of the signal that ended the command, or the tool
};

} // namespace zklock::tool

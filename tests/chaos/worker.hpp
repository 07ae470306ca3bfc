#pragma once
#include "support/polling.hpp"

#include <cstdint>
#include <string>

namespace zklock::chaos {

struct worker_options {
    std::string servers;
    std::string events;   ///< the file that it appends to, see history.cpp
    std::string log;      ///< the file that its client logs to, in full
    std::string resource; ///< the socket of the resource
    int process = 0;
    std::uint64_t seed = 0;
    bool handoff = false; ///< clients tell each other past the servers; and more kinds of locks are acquired
    unsigned contenders = 4;
    std::int64_t session_timeout = 2000; ///< milliseconds
    std::int64_t server_tick = 200;      ///< likewise
};

/// How many there are. With the hand-off: a plain mutex; one that lingers, with a cohort; one with a cohort; and one
/// for readers and writers.
[[nodiscard]] unsigned paths_of(bool handoff);
[[nodiscard]] std::string path_of(unsigned number);
/// Where the holders of a path commit, each time a node.
[[nodiscard]] std::string journal_of(const std::string& path);
/// What such a node says.
[[nodiscard]] std::string journal_entry(int process, unsigned operation, std::size_t number, std::int64_t token);

/// The life of one client process: contenders that acquire, hold, write and release by chance, until SIGTERM comes;
/// then each path is acquired once more, and the client is closed. From SIGUSR1 to SIGUSR2 no lock is given back. After
/// SIGHUP the process stops itself, by SIGSTOP, between the look at a guard and the write that it justifies; SIGUSR2
/// calls that off. Returns the exit status.
int run_worker(const worker_options& options);

} // namespace zklock::chaos

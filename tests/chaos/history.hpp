#pragma once
#include "chaos/misfortune.hpp"
#include "zklock/events.hpp"

#include <filesystem>
#include <ios>
#include <utility>

namespace zklock::chaos {

/// Nanoseconds of the lease clock, which all processes of the machine share.
using instant = std::int64_t;

[[nodiscard]] inline instant now()
{
    return lease_clock::now().time_since_epoch().count();
}
[[nodiscard]] constexpr instant in_nanoseconds(lease_clock::duration d)
{
    return d.count();
}

/// What the resource was asked.
struct write_record {
    int process = 0;
    unsigned operation = 0;
    std::string path;
    std::int64_t token = 0;
    instant sent = 0; ///< the guard said that it was held, after this moment
    instant arrived = 0;
    bool accepted = false;
    bool stopped = false; ///< its process had stopped itself after that moment, and went on later
};

/// One acquire and what came of it, as its process noted it.
struct operation {
    std::string path;
    std::string mode; ///< timed, unlimited, try or cancelled
    std::string kind; ///< of lock: mutex, lingering, cohort, several (of them as one), reader or writer
    instant started = 0;
    std::optional<instant> limit; ///< timed: not to end before; cancelled: when it was
    std::optional<instant> ended;
    std::string outcome; ///< granted, or the error
    std::int64_t token = 0;
    bool held = false; ///< what the guard said at `ended`
    std::string node;  ///< by which it was granted
    /// Until when it was believed to be held: the release, or the last that the guard said.
    std::optional<instant> believed;
    bool lost = false;               ///< how that ended
    std::optional<instant> shares;   ///< others may read with it from here on
    std::optional<instant> released; ///< when the release was done
    std::string release_outcome;
    std::optional<instant> told; ///< when wait_lost completed
    std::string told_outcome;
};

/// One that a guard has committed, as its process noted it.
struct commit_record {
    unsigned operation = 0;
    std::optional<instant> ended;
    std::string outcome;
    bool in_a_log = false; ///< a member wrote it, and none has it: so the servers have lost it, or never agreed on it
};

/// What the servers have executed of it.
struct executed_commit {
    std::string path; ///< of the lock
    int process = 0;
    unsigned operation = 0;
    std::size_t number = 0;
    std::int64_t token = 0;
    instant begun = 0; ///< by the clock of the leader that executed it, which is this machine's
};

/// One client process.
struct process_history {
    std::map<unsigned, operation> operations;
    std::map<std::size_t, commit_record> commits;
    std::size_t by_certificate = 0; ///< how many of its grants were
    std::vector<std::string> twice; ///< what was noted more than once
    std::optional<instant> closed;  ///< it came to its end by itself
    std::optional<instant> killed;  ///< by a nemesis; it was dead then
    std::vector<std::pair<instant, instant>> pauses;
};

/// Reads what a process noted (worker.cpp writes it). Throws when that makes no sense.
[[nodiscard]] process_history read_history(const std::filesystem::path& file);

/// Some misfortunes at once, and the time in which all recover.
struct round_record {
    struct blow {
        misfortune what;
        bool struck = false; ///< it has hit somebody
    };
    instant begun = 0, ended = 0;
    std::vector<blow> blows;
};

struct history {
    std::vector<round_record> rounds;
    std::map<int, process_history> processes;
    std::vector<write_record> writes;
    std::vector<executed_commit> executed; ///< those of a path in the order in which they were executed
    instant session_timeout = 0;
    instant patience = 0; ///< how much later than asked something may end on a busy machine
};

/// How many grants a process has noted since what was read before, which is moved on.
[[nodiscard]] std::size_t grants_noted(const std::filesystem::path& file, std::streamoff& read_before);

/// A process that has stopped itself between the look at its guard and the write.
struct stop_record {
    std::string path;
    std::int64_t token = 0;
};
/// The last one that a process noted, if it did.
[[nodiscard]] std::optional<stop_record> last_stop(const std::filesystem::path& file);

/// What was promised and not kept, in words; empty if all is well.
[[nodiscard]] std::vector<std::string> violations(const history& h);
/// Whether servers may have caused them all: because their data `differ`, or as commits that are in a log alone.
[[nodiscard]] bool servers_may_have_caused(const history& h, bool differ);

struct summary {
    std::size_t operations = 0, grants = 0, timed_out = 0, cancelled = 0, busy = 0, losses = 0, accepted = 0,
                refused = 0;
    std::size_t readers = 0, downgrades = 0, by_certificate = 0, commits = 0; ///< commits: executed
    std::size_t tries = 0, several = 0;   ///< that were granted; a multi-lock counts as its locks
    std::size_t lingered = 0, shared = 0; ///< grants by the node of an earlier one: it had lingered; it had a cohort
    std::size_t refused_after_stop = 0, accepted_after_stop = 0; ///< of those, by write_record::stopped
};
[[nodiscard]] summary summarise(const history& h);

/// What a history has to show.
struct expectation {
    bool handoff = false;    ///< what clients do that tell each other past the servers
    bool every_harm = false; ///< servers and clients were killed and stopped
};

/// What did not happen in it, though without that it shows nothing: in each round somebody was hit, and somebody was
/// granted a lock.
[[nodiscard]] std::vector<std::string> missing_in(const history&, const expectation&);

} // namespace zklock::chaos

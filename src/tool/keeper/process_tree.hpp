#pragma once
#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace zklock::tool {

/// A process that was seen in /proc.
struct seen_process {
    seen_process() = default;
    seen_process(pid_t the_id, unsigned long long the_start) : id(the_id), started(the_start) {}

    pid_t id = 0;
    unsigned long long started = 0; ///< in ticks since the boot: with the id it names a process for good
};

/// Makes this process the one to which orphans among its descendants come, so that descendants_of() finds them.
void adopt_orphans() noexcept;

/// All processes that descend from `root`, which is none of them. Those that have ended, and were not waited for yet,
/// do not count.
[[nodiscard]] std::vector<seen_process> descendants_of(pid_t root);

/// How many processes of a group live. Those that have ended, and were not waited for yet, do not count; kill() does
/// not tell them from others. If the group has members, and /proc does not tell what they are, somebody lives: 1.
[[nodiscard]] std::size_t living_in_group(pid_t group);

/// Whether this process has children, whom it has to wait for. Of one that adopts orphans, all descend from those.
[[nodiscard]] bool has_children() noexcept;

/// Whether somebody has stopped a process, with a signal or as a debugger does.
[[nodiscard]] bool is_stopped(pid_t id);

/// Whether nobody could continue a process group if it stopped: none of its processes has a parent in another group of
/// the same session. The kernel neither lets the terminal stop such a group, nor SIGTSTP.
[[nodiscard]] bool is_orphaned(pid_t group);

/// Whether there is a /proc, without which nobody is found but by their group.
[[nodiscard]] bool sees_processes();

/// How many processes there were for a signal.
struct signalled {
    std::size_t all = 0;
    std::size_t denied = 0; ///< they are another user's, who must not be signalled
};

/// Sends a signal to a process group, and to those descendants of this process that are in other groups. (A second TERM
/// might mean something else to those who have had one.) Counts the descendants.
signalled signal_all(pid_t group, int number);
/// Sends a signal to a process group, of which it counts those who live.
signalled signal_group(pid_t group, int number);

} // namespace zklock::tool

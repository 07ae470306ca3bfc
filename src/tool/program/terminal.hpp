#pragma once
#include <sys/types.h>
#include <termios.h>

namespace zklock::tool {

/// The terminal that the tool was started at, if there is one: who may read from it, and whom its keys signal. That is
/// one process group at a time, the foreground; a command, in its own group, is not in it until it is put there.
///
/// It is put there when it needs it: when the kernel stops it (SIGTTIN, SIGTTOU) because it reads, or changes the
/// terminal. Until then the tool's group has the terminal, with all that the shell has put there beside the tool, such
/// as a pager behind a pipe.
class terminal {
public:
    terminal();
    ~terminal();
    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;

    [[nodiscard]] bool is_there() const { return file_ >= 0; }
    /// Whether the tool's own group is in the foreground.
    [[nodiscard]] bool ours() const;

    /// Puts a group in the foreground if it or the tool's own is there. False if neither is.
    bool give_to(pid_t group);
    /// Puts the tool's own group there again if that group is there; `as_it_was` sets what the terminal does to what it
    /// was before, for a command that had no time to do so. Whether it was there.
    bool take_from(pid_t group, bool as_it_was);

    /// Stops the tool as the terminal's key does, so that the shell takes over; returns when it goes on. With
    /// `whole_group` it stops those beside it, too, whom the key has not reached.
    static void stop_ourselves(bool whole_group);

private:
    int file_ = -1;
    termios before_{};
    bool before_known_ = false;
};

} // namespace zklock::tool

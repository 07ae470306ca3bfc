#pragma once
#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace zklock::tool {

/// How signals were when the tool was started: what its command is started with, like any command of a shell.
struct inherited_signals {
    sigset_t mask{};
    struct sigaction child {}; ///< what SIGCHLD did
};

/// What came of the attempt to start a command.
struct started_child {
    pid_t id = 0;        ///< 0 if it could not be started
    int error = 0;       ///< then this is why
    bool forked = false; ///< whether that is an error of the execution, and not of the attempt to make a process for it
};

/// Starts a command, which is looked for in PATH, in a process group of its own whose number is the command's process
/// id. It has the environment of this process without the tool's secrets, with those additions (`NAME=value`), and all
/// descriptors that are not marked FD_CLOEXEC. It is killed when this process ends. Returns when the command has taken
/// the place of the copy of this process, or has failed to.
started_child start_child(const std::vector<std::string>& command, const std::vector<std::string>& additions,
                          const inherited_signals& before);

} // namespace zklock::tool

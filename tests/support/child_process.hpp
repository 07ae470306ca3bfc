#pragma once
#include "support/polling.hpp"
#include "support/unique_fd.hpp"

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace zklock::test {

/// A program that runs in a process group of its own and is killed with this object, and with the test.
///
/// The kernel ties its life to the thread that made it: make it on a thread that lives as long, such as the test's
/// main thread.
class child_process {
public:
    child_process() = default;

    /// Starts `arguments[0]`, looked for in PATH, in `directory`. Its output and errors are appended to `output`;
    /// with an empty `output` they go where the test's go. It reads `input`, if there is one. It inherits no descriptor
    /// but the standard ones.
    child_process(std::vector<std::string> arguments, const std::filesystem::path& directory,
                  const std::filesystem::path& output, unique_fd input = {});
    child_process(child_process&& other) noexcept;
    child_process& operator=(child_process&& other) noexcept;
    ~child_process() { kill(); }

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] bool running();

    /// Sent to the whole group; nothing happens when it has ended. To stop it there is pause().
    void signal(int number);

    /// SIGSTOP, and waits until all its threads stand still: the kernel stops them one by one.
    void pause();
    /// SIGCONT. Does not wait.
    void resume();
    /// Whether it was stopped, by pause() or by itself, all of it.
    [[nodiscard]] bool paused() const;

    /// SIGKILL, and waits until it is gone.
    void kill();

    /// Waits until it ends: its exit status, or 128 plus the signal that ended it.
    int wait(milliseconds limit = default_limit);

private:
    bool reap(int flags);

    pid_t pid_ = -1;
    std::optional<int> status_;
};

} // namespace zklock::test

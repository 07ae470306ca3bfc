#pragma once
// A server, and the program as it is: real processes, real signals, real files.
#include "support/admin_client.hpp"
#include "support/child_process.hpp"
#include "support/one_server.hpp"
#include "support/polling.hpp"
#include "support/temporary_directory.hpp"

#include <boost/json/object.hpp>

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace zklock::test {

/// What the program ended with, and what it wrote, to stdout and to stderr.
struct ended_tool {
    ended_tool() = default;

    int status = -1;
    std::string text;
};

/// A place for the program's commands: their files are in a directory that goes with it. The program finds the server
/// by ZKLOCK_SERVERS, and a session of 20 s is asked for unless the arguments say otherwise: a busy machine loses no
/// lock.
class tool_scene {
public:
    tool_scene();

    /// Where the program is.
    static const std::string& program();

    /// Starts it with these arguments; what it writes is in the file `output`.
    child_process start(std::vector<std::string> arguments, const std::string& output = "output", unique_fd input = {});
    /// Starts one that writes a line to `output` when it has the lock, and has it when this returns.
    child_process start_holder(std::vector<std::string> arguments, const std::string& output);
    /// Starts any other command in the directory.
    child_process start_command(std::vector<std::string> command, const std::string& output = "output");

    /// Runs it to its end.
    ended_tool run(std::vector<std::string> arguments, unique_fd input = {});
    ended_tool run_command(std::vector<std::string> command);

    /// What is in a file of the directory; empty if there is none.
    [[nodiscard]] std::string contents(const std::string& name) const;
    /// The same, once there is a whole line in it.
    [[nodiscard]] std::string await_line(const std::string& name) const;
    /// The number in a file that has a whole line.
    [[nodiscard]] pid_t await_pid(const std::string& name) const;
    /// Until a file has that text in it.
    void await_text(const std::string& name, const std::string& text) const;
    [[nodiscard]] std::filesystem::path file(const std::string& name) const { return directory_.path() / name; }

private:
    ended_tool finish(child_process process, const std::string& output);

    temporary_directory directory_;
    int count_ = 0;
};

/// The status with which it ends after a TERM.
int let_go(child_process& holder);

/// Whether there is such a process, which has not ended.
[[nodiscard]] bool lives(pid_t id);
/// Until it has ended.
void await_end(pid_t id);
/// Its parent; 0 if there is no such process.
[[nodiscard]] pid_t parent_of(pid_t id);
/// The one child of a process, once it is there.
[[nodiscard]] pid_t await_child(pid_t parent);

[[nodiscard]] std::size_t count_lines(const std::string& text);
/// The one object in a text of JSON.
[[nodiscard]] boost::json::object json_in(const std::string& text);

/// Both ends of a pipe, the first to be read.
struct pipe_ends {
    pipe_ends();

    unique_fd out, in;
};

} // namespace zklock::test

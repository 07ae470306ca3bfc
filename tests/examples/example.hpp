#pragma once
#include "support/child_process.hpp"
#include "support/failure_report.hpp"
#include "support/one_server.hpp"
#include "support/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace zklock::test {

/// One of the programs of src/examples, as its reader starts it, and what it prints. It is killed with this object.
class example {
public:
    /// Starts the program example_NAME.
    explicit example(const std::string& name, std::vector<std::string> arguments = {server().address()})
        : process_(command(name, std::move(arguments)), directory_.path(), output())
    {
    }
    ~example() { report_on_failure(printed()); }

    [[nodiscard]] std::string printed() const
    {
        std::ostringstream text;
        text << std::ifstream(output()).rdbuf();
        return text.str();
    }

    /// Waits until it has printed that text.
    void wait_for(const std::string& text)
    {
        wait_until("it prints: " + text, default_limit, [&] { return printed().find(text) != std::string::npos; });
    }

    /// Waits until it ends. Gives its exit status.
    [[nodiscard]] int wait() { return process_.wait(); }

    /// Waits until it ends, and looks at the exit status and at all that it has printed, errors and all else in their
    /// order: the lines are regular expressions.
    void expect(int status, const std::string& lines)
    {
        CHECK(wait() == status);
        const std::string text = printed();
        CHECK_MESSAGE(std::regex_match(text, std::regex(lines)), text);
    }

    [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }

    /// Asks it to end, as a service manager does.
    void terminate() { process_.signal(SIGTERM); }

private:
    static std::vector<std::string> command(const std::string& name, std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin(), ZKLOCK_EXAMPLES "/example_" + name);
        return arguments;
    }
    [[nodiscard]] std::filesystem::path output() const { return directory_.path() / "output"; }

    temporary_directory directory_;
    child_process process_;
};

} // namespace zklock::test

// zklock run at a terminal: a real shell with job control, and what is typed.
#include "tool/tests/tool_scene.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

using namespace zklock::test;

namespace {

/// bash, as somebody at a terminal has it.
class typed_shell {
public:
    explicit typed_shell(const std::filesystem::path& directory)
    {
        terminal_ = unique_fd{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
        if (!terminal_ || ::grantpt(terminal_.get()) != 0 || ::unlockpt(terminal_.get()) != 0)
            throw std::system_error(errno, std::generic_category(), "posix_openpt");
        const std::string name = ::ptsname(terminal_.get());
        const pid_t parent = ::getpid();
        shell_ = ::fork();
        if (shell_ == 0)
            become_shell(name.c_str(), directory.c_str(), parent);
        type("PS1='[''ready] '; stty -echo\n"); // so that what is typed is not taken for an answer
        await("[ready] ");
    }
    ~typed_shell()
    {
        terminal_.reset(); // hangs up
        ::kill(shell_, SIGKILL);
        ::waitpid(shell_, nullptr, 0);
    }
    typed_shell(const typed_shell&) = delete;
    typed_shell& operator=(const typed_shell&) = delete;

    void type(const std::string& text)
    {
        if (::write(terminal_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            throw std::system_error(errno, std::generic_category(), "write to a terminal");
    }

    /// Reads until that text has come; gives what came before it.
    std::string await(const std::string& text)
    {
        const auto deadline = steady_clock::now() + default_limit;
        while (seen_.find(text) == std::string::npos) {
            pollfd readable{terminal_.get(), POLLIN, 0};
            if (steady_clock::now() > deadline)
                throw std::runtime_error("the terminal never said " + text + ", but: " + seen_);
            if (::poll(&readable, 1, 100) != 1)
                continue;
            char some[4096];
            const ssize_t length = ::read(terminal_.get(), some, sizeof some);
            if (length <= 0)
                throw std::runtime_error("the terminal is gone after: " + seen_);
            seen_.append(some, static_cast<std::size_t>(length));
        }
        const auto at = seen_.find(text);
        const std::string before = seen_.substr(0, at);
        seen_.erase(0, at + text.size());
        return before;
    }

    /// Until the command has ended, with that status.
    void expect_status(int status)
    {
        await("[ready] ");
        type("echo status=$?\n");
        await("status=" + std::to_string(status));
    }

    /// The terminal's key stops the job, and the shell has it go on in the foreground.
    void stop_and_continue()
    {
        type("\x1a");
        await("Stopped");
        await("[ready] ");
        type("fg\n");
    }

    /// Until a job is in the foreground, and has what is typed. The shell names a job before it puts it there.
    void await_job() const
    {
        wait_until("a job in the foreground", default_limit, [this] { return ::tcgetpgrp(terminal_.get()) != shell_; });
    }

private:
    [[noreturn]] static void become_shell(const char* terminal, const char* directory, pid_t parent)
    {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::setsid();
        const int file = ::open(terminal, O_RDWR); // is its controlling terminal from now on
        if (::getppid() != parent || file < 0 || ::ioctl(file, TIOCSCTTY, 0) != 0 || ::chdir(directory) != 0)
            ::_exit(127);
        for (const int standard : {0, 1, 2})
            ::dup2(file, standard);
        ::close_range(3, ~0U, 0);
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        ::setenv("TERM", "dumb", 1);
        ::execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i", nullptr);
        ::_exit(127);
    }

    unique_fd terminal_;
    pid_t shell_ = -1;
    std::string seen_;
};

const std::string options = " --server-tick 0.5 --session-timeout 20 ";
const std::string run = tool_scene::program() + " run" + options;
const std::string lead = tool_scene::program() + " lead" + options;

} // namespace

TEST_CASE("a command reads from the terminal, and the shell has it back afterwards")
{
    tool_scene scene;
    typed_shell shell(scene.file(""));
    shell.type(run + "/terminal/read -- sh -c 'echo up; read line; echo \"<$line>\"; exit 3'\n");
    shell.await("up");
    shell.type("some words\n");
    shell.await("<some words>");
    shell.expect_status(3);
}

TEST_CASE("the terminal's key interrupts the command, before it reads and while it does")
{
    tool_scene scene;
    typed_shell shell(scene.file(""));
    // The one that says that it is up is a child that any INT ends: a shell that has its INT just before it waits
    // heeds it after that.
    const std::string child = "sh -c \"echo up; exec sleep 1000\"";
    shell.type(run + "/terminal/interrupt -- sh -c 'trap \"echo stopped; exit 4\" INT; " + child + "'\n");
    shell.await("up");
    shell.type("\x03");
    shell.await("stopped");
    shell.expect_status(4);

    shell.type(run + "/terminal/interrupt -- sh -c 'trap \"echo stopped; exit 5\" INT; read line; " + child + "'\n");
    shell.type("a line\n"); // the one that reads it has the terminal
    shell.await("up");
    shell.type("\x03");
    shell.await("stopped");
    shell.expect_status(5);
}

TEST_CASE("a job is stopped, and goes on in the foreground")
{
    tool_scene scene;
    typed_shell shell(scene.file(""));
    shell.type(run + "/terminal/stop -- sh -c 'read line; echo first; read line; echo \"<$line>\"'\n");
    shell.type("a line\n");
    shell.await("first");
    shell.type("\x1a");
    shell.await("Stopped");
    shell.await("[ready] ");
    shell.type("echo the shell is here\n");
    shell.await("the shell is here");
    shell.type("fg\n");
    shell.await("read line"); // what bash says of the job
    shell.type("later\n");
    shell.await("<later>");
    shell.expect_status(0);
}

TEST_CASE("in the background a command that reads is stopped, as any job is")
{
    tool_scene scene;
    typed_shell shell(scene.file(""));
    shell.type(run + "/terminal/background -- sh -c 'read line; echo \"<$line>\"' &\n");
    shell.await("[ready] ");
    wait_until("a job that has stopped", default_limit, [&] {
        shell.type("jobs; echo end of jobs\n");
        return shell.await("end of jobs").find("Stopped") != std::string::npos;
    });
    shell.type("fg\n");
    shell.await("read line");
    shell.type("now\n");
    shell.await("<now>");
}

TEST_CASE("a command in a pipeline leaves the terminal to the others")
{
    tool_scene scene;
    typed_shell shell(scene.file(""));
    // A shell that waits for a child lets go of an INT that has come before the child was there: here it has none.
    shell.type(run + "/terminal/pipe -- sh -c 'echo data; exec sleep 1000' | sh -c 'read data; echo got $data; read "
                     "key </dev/tty; echo key $key'\n");
    shell.await("got data");
    shell.type("q\n");
    shell.await("key q");
    shell.type("\x03");
    shell.await("[ready] ");
}

TEST_CASE("who waits is interrupted by the terminal's key")
{
    tool_scene scene;
    auto holder = scene.start_holder({"run", "--name", "other", "/terminal/wait"}, "holder");
    typed_shell shell(scene.file(""));
    shell.type(run + "--verbose /terminal/wait -- true\n");
    shell.await("held by other");
    shell.type("\x03");
    shell.expect_status(130);
    CHECK(let_go(holder) == 0);
}

TEST_CASE("a job of several processes is stopped as a whole when the command has the terminal")
{
    tool_scene scene;
    std::ofstream(scene.file("job")) << run
                                     << "/terminal/job -- sh -c 'read line; echo first; read line; echo \"<$line>\"'\n"
                                        "echo job ends with $?\n";
    typed_shell shell(scene.file(""));
    shell.type("sh job\n");
    shell.type("a line\n");
    shell.await("first");
    shell.stop_and_continue();
    shell.await("sh job");
    shell.type("later\n");
    shell.await("<later>");
    shell.await("job ends with 0");
    shell.await("[ready] ");
}

TEST_CASE("lead that waits for its next term is stopped by the terminal's key, as it was before its first")
{
    tool_scene scene;
    typed_shell shell(scene.file(""));
    shell.type(lead + "/terminal/terms -- sh -c 'read line; echo first'\n");
    admin_client admin(server().port());
    wait_until("a leader", default_limit, [&] {
        return admin.exists("/terminal/terms").has_value() && admin.children("/terminal/terms").size() == 1;
    });
    auto next = scene.start({"run", "/terminal/terms"}, "next");
    wait_until("a queue", default_limit, [&] { return admin.children("/terminal/terms").size() == 2; });
    shell.type("a line\n");
    shell.await("first");
    static_cast<void>(scene.await_line("next"));
    wait_until("a queue again", default_limit, [&] { return admin.children("/terminal/terms").size() == 2; });
    shell.stop_and_continue();
    shell.await("lead"); // what bash says of the job
    shell.await_job();
    shell.type("\x03");
    shell.expect_status(130);
    CHECK(let_go(next) == 0);
}

TEST_CASE("lead ends when the terminal's key ends a command that has the terminal")
{
    tool_scene scene;
    typed_shell shell(scene.file(""));
    for (const std::string trap : {"", "trap \"exit 130\" INT; "}) {
        shell.type(lead + "/terminal/lead -- sh -c '" + trap + "read line; echo first; read line'\n");
        shell.type("a line\n");
        shell.await("first");
        shell.type("\x03");
        shell.expect_status(130);
    }
}

TEST_CASE("a command whose shell has gone hangs up when it reads from the terminal")
{
    tool_scene scene;
    REQUIRE(scene.run_command({"mkfifo", "gate"}).status == 0);
    typed_shell shell(scene.file(""));
    // The inner subshell goes on without the outer one, so nobody could continue what stops. One that does not heed HUP
    // is stopped for good.
    for (const auto& [trap, status] : {std::pair("", "129"), std::pair("trap \"\" HUP; ", "143")}) {
        const std::string command = "sh -c '" + std::string(trap) + "read line </dev/tty'";
        shell.type("( (read go <gate; " + run + "/terminal/orphan -- " + command + "; echo $? >status." + status +
                   ") & )\n");
        shell.await("[ready] ");
        CHECK(scene.run_command({"sh", "-c", "echo go >gate"}).status == 0);
        CHECK(scene.await_line(std::string("status.") + status) == status);
    }
}

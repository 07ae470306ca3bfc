#include "support/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <stdexcept>
#include <system_error>

namespace zklock::test {

namespace {

// Between fork and exec: only what is safe in a copy of a process that had threads.
[[noreturn]] void become(char* const* arguments, const char* directory, int input, int output, pid_t parent)
{
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(127); // it died before the line above
    if (input >= 0)
        ::dup2(input, STDIN_FILENO);
    if (output >= 0) {
        ::dup2(output, STDOUT_FILENO);
        ::dup2(output, STDERR_FILENO);
    }
    ::close_range(3, ~0U, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (::chdir(directory) == 0)
        ::execvp(arguments[0], arguments);
    ::_exit(127);
}

} // namespace

child_process::child_process(std::vector<std::string> arguments, const std::filesystem::path& directory,
                             const std::filesystem::path& output, unique_fd input)
{
    std::vector<char*> pointers;
    for (auto& argument : arguments)
        pointers.push_back(argument.data());
    pointers.push_back(nullptr);

    unique_fd file;
    if (!output.empty()) {
        file = unique_fd{::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
        if (!file)
            throw std::system_error(errno, std::generic_category(), output.string());
    }
    const auto parent = ::getpid();
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0)
        become(pointers.data(), directory.c_str(), input.get(), file.get(), parent);
    ::setpgid(pid_, pid_); // both do it, so that it is done whoever runs first
}

child_process::child_process(child_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_)
{
}

child_process& child_process::operator=(child_process&& other) noexcept
{
    std::swap(pid_, other.pid_);
    std::swap(status_, other.status_);
    return *this;
}

bool child_process::reap(int flags)
{
    if (pid_ < 0 || status_)
        return true;
    int status = 0;
    pid_t result = 0;
    do
        result = ::waitpid(pid_, &status, flags);
    while (result < 0 && errno == EINTR);
    if (result == 0)
        return false;
    status_ = result < 0 ? 127 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

bool child_process::running()
{
    return !reap(WNOHANG);
}

void child_process::signal(int number)
{
    if (!reap(WNOHANG))
        ::kill(-pid_, number);
}

void child_process::pause()
{
    signal(SIGSTOP);
    wait_until("process " + std::to_string(pid_) + " stands still", default_limit,
               [this] { return paused() || !running(); });
}

void child_process::resume()
{
    signal(SIGCONT);
}

bool child_process::paused() const
{
    if (pid_ < 0 || status_)
        return false;
    // A parent is told of a stop when the last thread has stopped. The news is left there, for the next look.
    siginfo_t news{};
    const int result = ::waitid(P_PID, static_cast<id_t>(pid_), &news, WSTOPPED | WNOHANG | WNOWAIT);
    return result == 0 && news.si_pid == pid_;
}

void child_process::kill()
{
    if (pid_ < 0 || status_)
        return;
    ::kill(-pid_, SIGKILL);
    reap(0);
}

int child_process::wait(milliseconds limit)
{
    if (pid_ < 0)
        throw std::logic_error("wait for a process that was never started");
    wait_until("end of process " + std::to_string(pid_), limit, [this] { return reap(WNOHANG); });
    return *status_;
}

} // namespace zklock::test

// Boost.Process has no hook for the group, the parent's death and the errno of the execution all together in 1.81, and
// all of it is what matters here.
#include "tool/keeper/child.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace zklock::tool {
namespace {

/// What the tool reads to say who it is. The command is somebody else.
constexpr const char* secrets[] = {"ZKLOCK_AUTH", "ZKLOCK_SASL_PASSWORD", "ZKLOCK_TLS_KEY_PASSWORD"};

[[noreturn]] void become(char* const* command, const std::vector<std::string>& additions,
                         const inherited_signals& before, pid_t parent, int tell_error)
{
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) // it ended before the line above
        ::_exit(127);
    for (const char* const secret : secrets)
        ::unsetenv(secret);
    for (const std::string& addition : additions)
        ::putenv(const_cast<char*>(addition.c_str()));
    ::sigaction(SIGCHLD, &before.child, nullptr);
    ::sigprocmask(SIG_SETMASK, &before.mask, nullptr);
    ::execvp(command[0], command);
    const int error = errno;
    while (::write(tell_error, &error, sizeof error) < 0 && errno == EINTR) {
    }
    ::_exit(error == ENOENT ? 127 : 126);
}

} // namespace

started_child start_child(const std::vector<std::string>& command, const std::vector<std::string>& additions,
                          const inherited_signals& before)
{
    std::vector<char*> words;
    for (const std::string& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);

    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0)
        return {0, errno, false};
    const pid_t parent = ::getpid();
    const pid_t id = ::fork();
    if (id == 0)
        become(words.data(), additions, before, parent, pipe[1]);
    const int fork_error = errno;
    ::close(pipe[1]);
    if (id < 0) {
        ::close(pipe[0]);
        return {0, fork_error, false};
    }
    ::setpgid(id, id); // both do it, so that it is done, no matter which comes first
    int error = 0;
    ssize_t length = 0;
    do // the pipe ends without a byte when the command's program has begun
        length = ::read(pipe[0], &error, sizeof error);
    while (length < 0 && errno == EINTR);
    ::close(pipe[0]);
    if (length != static_cast<ssize_t>(sizeof error))
        return {id, 0, true};
    while (::waitpid(id, nullptr, 0) < 0 && errno == EINTR) {
    }
    return {0, error, true};
}

} // namespace zklock::tool

#include "tool/program/terminal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace zklock::tool {

terminal::terminal() : file_(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC))
{
    // A process in the background that changes the terminal, or (with tostop) writes to it, would be stopped, and with
    // it the lock's heartbeats.
    ::signal(SIGTTOU, SIG_IGN);
}

terminal::~terminal()
{
    if (file_ >= 0)
        ::close(file_);
}

bool terminal::ours() const
{
    return file_ >= 0 && ::tcgetpgrp(file_) == ::getpgrp();
}

bool terminal::give_to(pid_t group)
{
    if (file_ >= 0 && ::tcgetpgrp(file_) == group)
        return true; // what asks for it now was stopped before it was given
    if (!ours())
        return false;
    before_known_ = ::tcgetattr(file_, &before_) == 0;
    return ::tcsetpgrp(file_, group) == 0;
}

bool terminal::take_from(pid_t group, bool as_it_was)
{
    if (file_ < 0 || ::tcgetpgrp(file_) != group)
        return false;
    ::tcsetpgrp(file_, ::getpgrp());
    if (as_it_was && before_known_)
        ::tcsetattr(file_, TCSANOW, &before_);
    return true;
}

void terminal::stop_ourselves(bool whole_group)
{
    // The signal is pending until all have it. The shell may have them go on as soon as it sees one that has stopped:
    // then the kernel takes back what is pending, and this process does not stop after all others have gone on.
    sigset_t stop;
    sigset_t before;
    ::sigemptyset(&stop);
    ::sigaddset(&stop, SIGTSTP);
    ::sigprocmask(SIG_BLOCK, &stop, &before);
    // A process that has no shell which could continue it (its group is orphaned) is not stopped by this signal.
    ::kill(whole_group ? 0 : ::getpid(), SIGTSTP);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

} // namespace zklock::tool

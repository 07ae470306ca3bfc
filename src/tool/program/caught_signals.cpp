#include "tool/program/caught_signals.hpp"

#include "tool/program/terminal.hpp"

#include <signal.h>
#include <string.h>

#include <utility>

namespace zklock::tool {
namespace {

constexpr int of_job_control[] = {SIGTSTP, SIGCONT, SIGWINCH};

} // namespace

caught_signals::caught_signals(boost::asio::io_context& io, std::function<void(int)> told)
    : signals_(io), told_(std::move(told))
{
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2})
        add(number);
    ::signal(SIGPIPE, SIG_IGN); // a reader of stderr that has gone is no reason to end
    wait();
}

void caught_signals::add(int number)
{
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN)
        signals_.add(number);
}

void caught_signals::heed_job_control()
{
    if (std::exchange(job_control_, true))
        return;
    for (const int number : of_job_control)
        add(number);
}

void caught_signals::unheed_job_control()
{
    if (!std::exchange(job_control_, false))
        return;
    for (const int number : of_job_control)
        signals_.remove(number); // nothing happens to one that was not added
}

void caught_signals::stop_ourselves(bool whole_group)
{
    struct sigaction now {};
    ::sigaction(SIGTSTP, nullptr, &now);
    if (now.sa_handler == SIG_IGN)
        return;
    signals_.remove(SIGTSTP);
    terminal::stop_ourselves(whole_group);
    signals_.add(SIGTSTP);
}

void caught_signals::wait()
{
    signals_.async_wait([this](boost::system::error_code error, int number) {
        if (error)
            return;
        told_(number);
        wait();
    });
}

bool ends_the_tool(int number)
{
    return number != SIGTSTP && number != SIGCONT && number != SIGWINCH;
}

const char* name_of_signal(int number)
{
    const char* const name = ::sigabbrev_np(number);
    return name != nullptr ? name : "?";
}

} // namespace zklock::tool

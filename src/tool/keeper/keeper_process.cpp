#include "tool/keeper/keeper_process.hpp"

#include "tool/keeper/process_tree.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

namespace zklock::tool {
namespace {

using namespace std::chrono_literals;

constexpr lease_clock::duration between_looks = 20ms;
constexpr lease_clock::duration between_late_looks = 1s; ///< at what has survived KILL

lease_clock::time_point lease_time(std::int64_t nanoseconds)
{
    return lease_clock::time_point(lease_clock::duration(nanoseconds));
}

int checked(int result, const char* what)
{
    if (result < 0)
        throw std::system_error(errno, std::generic_category(), what);
    return result;
}

} // namespace

keeper_process::keeper_process(int tool, std::vector<std::string> command, stop_times times,
                               const inherited_signals& before)
    : tool_(tool), command_(std::move(command)), times_(times), before_(before)
{
    adopt_orphans();
    sigset_t child;
    ::sigemptyset(&child);
    ::sigaddset(&child, SIGCHLD);
    children_ = checked(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
    timer_ = checked(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd");
}

void keeper_process::run()
{
    while (!tool_gone_ || phase_ != phase::idle) {
        wait();
        reap();
        advance();
    }
}

/// Until something happens, or is due. All orders that have come are taken: what is due is judged by the newest lease.
void keeper_process::wait()
{
    itimerspec at{};
    if (const auto when = due()) {
        // All zeroes would turn it off; what is due already comes at once all the same.
        const auto time = std::max(when->time_since_epoch(), lease_clock::duration(1));
        at.it_value.tv_sec = static_cast<time_t>(time / 1s);
        at.it_value.tv_nsec = static_cast<long>((time % 1s).count());
    }
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
    std::array<pollfd, 3> sources{{{children_, POLLIN, 0}, {timer_, POLLIN, 0}, {tool_, POLLIN, 0}}};
    ::poll(sources.data(), tool_gone_ ? 2 : 3, -1); // EINTR after a stop, when much may have come
    signalfd_siginfo news;
    while (::read(children_, &news, sizeof news) > 0) {
    }
    while (!tool_gone_ && take_order()) {
    }
}

bool keeper_process::take_order()
{
    std::array<char, 65'536> packet;
    const ssize_t length = ::recv(tool_, packet.data(), packet.size(), MSG_DONTWAIT);
    if (length < 0 && errno == EINTR)
        return true;
    if (length < 0 && errno == EAGAIN)
        return false;
    if (length <= 0) { // its end was closed
        tool_gone_ = true;
        if (phase_ != phase::idle) {
            everything_ = true;
            kill();
        }
        return false;
    }
    if (length < static_cast<ssize_t>(sizeof(order)))
        return true; // none of the tool's
    order what;
    std::memcpy(&what, packet.data(), sizeof what);
    obey(what, std::string_view(packet.data() + sizeof what, static_cast<std::size_t>(length) - sizeof what));
    return true;
}

void keeper_process::obey(const order& what, std::string_view environment)
{
    if (what.what == order_kind::start)
        return start(what, environment);
    if (phase_ == phase::idle)
        return; // it crossed our report
    switch (what.what) {
    case order_kind::start: break;
    case order_kind::signal: static_cast<void>(signal(what.number)); break;
    case order_kind::extend: lease_end_ = std::max(lease_end_, lease_time(what.until)); break;
    case order_kind::stop: stop(true); break;
    case order_kind::lose:
        lease_end_ = lease_time(what.until);
        stop(true);
        break;
    }
}

void keeper_process::start(const order& what, std::string_view environment)
{
    if (lease_clock::now() >= lease_time(what.until) - times_.notice()) { // the tool was stopped meanwhile, say
        tell(report_kind::stopping);
        return tell(report_kind::gone);
    }
    std::vector<std::string> additions;
    while (!environment.empty()) {
        const auto end = environment.find('\0');
        additions.emplace_back(environment.substr(0, end));
        environment.remove_prefix(std::min(end, environment.size() - 1) + 1);
    }
    const started_child child = start_child(command_, additions, before_);
    if (child.id == 0)
        return tell(child.forked ? report_kind::not_started : report_kind::no_process, child.error);
    group_ = child.id;
    command_ended_ = everything_ = outlived_told_ = stuck_told_ = denied_told_ = false;
    lease_end_ = lease_time(what.until);
    phase_ = phase::running;
    tell(report_kind::started, group_);
}

void keeper_process::reap()
{
    for (;;) {
        int status = 0;
        const pid_t id = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
        if (id <= 0)
            return;
        if (id == group_ && phase_ != phase::idle && !command_ended_)
            command_changed(status);
    }
}

void keeper_process::command_changed(int status)
{
    if (WIFSTOPPED(status))
        return tell(report_kind::stopped, WSTOPSIG(status));
    if (WIFCONTINUED(status))
        return tell(report_kind::continued);
    command_ended_ = true;
    tell(report_kind::ended, status);
    if (phase_ == phase::running) {
        phase_ = phase::draining;
        drain_end_ = lease_clock::now() + times_.kill_after;
    }
}

/// Does what is due.
void keeper_process::advance()
{
    if (phase_ == phase::idle)
        return;
    const auto now = lease_clock::now();
    if (now >= lease_end_ && !outlived_told_ && !(command_ended_ && over())) {
        outlived_told_ = true;
        tell(report_kind::outlived);
    }
    if ((phase_ == phase::running || phase_ == phase::draining) && now >= lease_end_ - times_.notice()) {
        tell(report_kind::stopping);
        stop(true);
    } else if (phase_ == phase::draining && now >= drain_end_) {
        stop(false);
    }
    if (phase_ == phase::stopping && now >= kill_time())
        kill();
    else if (phase_ == phase::killing && now >= next_look_)
        kill();
    const bool late = phase_ == phase::killing && now - kill_began_ > patience_with_kill;
    next_look_ = now + (late ? between_late_looks : between_looks);
    if (command_ended_ && over()) {
        phase_ = phase::idle;
        group_ = 0;
        tell(report_kind::gone);
    }
}

void keeper_process::stop(bool everything)
{
    everything_ = everything_ || everything;
    if (phase_ == phase::stopping || phase_ == phase::killing)
        return;
    phase_ = phase::stopping;
    stop_began_ = lease_clock::now();
    for (const int number : {SIGTERM, SIGCONT}) // what is stopped does not notice the first before the second
        static_cast<void>(signal(number));
}

/// To all that is to be stopped, or to the group. Gives how many processes are left of that.
std::size_t keeper_process::signal(int number)
{
    const signalled count = everything_ ? signal_all(group_, number) : signal_group(group_, number);
    if (count.denied != 0 && !std::exchange(denied_told_, true))
        tell(report_kind::denied, static_cast<int>(count.denied));
    return count.all;
}

void keeper_process::kill()
{
    const auto now = lease_clock::now();
    if (phase_ != phase::killing)
        kill_began_ = now;
    phase_ = phase::killing;
    std::size_t left = signal(SIGKILL);
    if (everything_ && has_children())
        left = std::max<std::size_t>(left, 1);
    if (left != 0 && now - kill_began_ > patience_with_kill && !std::exchange(stuck_told_, true))
        tell(report_kind::stuck, static_cast<int>(left));
}

/// The command has ended; has all else that has to?
bool keeper_process::over() const
{
    // Its number goes to nobody else as long as there is a member, and then not before all others were given away.
    return living_in_group(group_) == 0 && (!everything_ || !has_children());
}

keeper_process::time_point keeper_process::kill_time() const
{
    return std::min(stop_began_ + times_.kill_after, lease_end_ - times_.reserve);
}

std::optional<keeper_process::time_point> keeper_process::due() const
{
    std::optional<time_point> when;
    switch (phase_) {
    case phase::idle: return std::nullopt;
    case phase::running: return lease_end_ - times_.notice();
    case phase::draining: when = std::min(drain_end_, lease_end_ - times_.notice()); break;
    case phase::stopping: when = kill_time(); break;
    case phase::killing: return next_look_;
    }
    return command_ended_ ? std::min(*when, next_look_) : *when;
}

void keeper_process::tell(report_kind what, int number)
{
    const report text{what, number};
    // It must not wait for a tool that is stopped. There is room for hundreds, and a command has a handful.
    if (!tool_gone_)
        static_cast<void>(::send(tool_, &text, sizeof text, MSG_NOSIGNAL | MSG_DONTWAIT));
}

} // namespace zklock::tool

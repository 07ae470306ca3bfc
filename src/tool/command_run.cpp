// What a lock_session does while its command runs: it tells the keeper how the lease goes on, passes signals on, and
// takes care that the terminal is where it belongs.
#include "tool/lock_session.hpp"

#include "tool/exit_status.hpp"

#include <fmt/format.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace zklock::tool {

namespace asio = boost::asio;
using kind = event::kind;

/// One run of the command.
struct lock_session::command_state {
    terminal at;
    pid_t group = 0;       ///< 0 before it runs
    int status = failed;   ///< to end with
    bool over = false;     ///< nothing is left of it
    bool lost = false;     ///< the lock, before that
};

namespace {

int status_of_command(int status)
{
    return WIFSIGNALED(status) ? signal_base + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace

asio::awaitable<int> lock_session::run_command()
{
    command_state command;
    signals_.heed_job_control();
    watch_hold();
    const std::vector<std::string> additions{"ZKLOCK_PATH=" + plan_.lock.path, "ZKLOCK_NODE=" + held_->node(),
                                             "ZKLOCK_TOKEN=" + std::to_string(held_->token())};
    commands_->start(lease_end_, additions);
    tick_after(between_extensions());
    while (!command.over) {
        const event next = co_await events_.take();
        handle(next, command);
    }
    ticks_.cancel();
    co_return command.lost ? lock_lost : command.status;
}

/// The keeper's knowledge of the lease is older than ours by no more than that.
std::chrono::milliseconds lock_session::between_extensions() const
{
    return std::clamp(plan_.client.session_timeout / 40, milliseconds(20), milliseconds(500));
}

void lock_session::handle(const event& next, command_state& command)
{
    switch (next.what) {
    case kind::reported: return reported(next.said, command);
    case kind::keeper_ended: return keeper_ended(command);
    case kind::caught: return caught(next.number);
    case kind::lost:
        if (!std::exchange(command.lost, true)) {
            tell_lost();
            commands_->lose(std::max(lease_end_, lease_clock::now()));
        }
        return;
    case kind::revoked:
        out_.tell("revoked", {{"path", plan_.lock.path}}, "asked to let go");
        commands_->stop();
        return;
    case kind::tick:
        if (const auto until = held_->held_until(); until > lease_end_)
            commands_->extend(lease_end_ = until);
        return tick_after(between_extensions());
    case kind::connected:
    case kind::acquired:
    case kind::released:
    case kind::closed: return; // nothing of that is under way
    }
}

void lock_session::reported(report said, command_state& command)
{
    switch (said.what) {
    case report_kind::started:
        command.group = said.number;
        out_.tell("started", {{"pid", said.number}}, fmt::format("running, process {}", said.number));
        break;
    case report_kind::not_started:
        command.over = cannot_go_on_ = true;
        command.status = said.number == ENOENT ? not_found : not_executable;
        out_.warn("not_started", {{"command", utf8(plan_.command.front())}, {"error", ::strerror(said.number)}},
                  fmt::format("cannot run {}: {}", printable(plan_.command.front()), ::strerror(said.number)));
        break;
    case report_kind::stopped: command_stopped(said.number, command); break;
    case report_kind::continued: break;
    case report_kind::ended:
        command.status = status_of_command(said.number);
        command.at.take_from(command.group, WIFSIGNALED(said.number));
        out_.tell("ended", {{"status", command.status}}, fmt::format("ended with status {}", command.status));
        break;
    case report_kind::stopping: // it knows the lease's end, too, and was first
        if (!std::exchange(command.lost, true))
            tell_lost();
        break;
    case report_kind::stuck:
        out_.warn("stuck", {{"processes", said.number}},
                  fmt::format("{} processes of the command cannot be killed", said.number));
        break;
    case report_kind::gone: command.over = true; break;
    }
}

void lock_session::caught(int number)
{
    if (number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT)
        asked_to_end_ = number;
    commands_->signal(number);
}

/// The command was stopped, and with it all of its group, most probably by the terminal.
void lock_session::command_stopped(int number, command_state& command)
{
    const bool wants_terminal = number == SIGTTIN || number == SIGTTOU;
    if (wants_terminal && command.at.give_to(command.group))
        return commands_->signal(SIGCONT);
    if (!command.at.is_there() || !(wants_terminal || number == SIGTSTP))
        return; // somebody stopped it with a signal, and will have it go on
    // The shell is to see that its job has stopped. Meanwhile nobody extends the lease: the keeper watches its end.
    const bool had_terminal = command.at.take_from(command.group, false);
    signals_.stop_ourselves();
    if (had_terminal)
        command.at.give_to(command.group);
    commands_->signal(SIGCONT);
}

void lock_session::keeper_ended(command_state& command)
{
    out_.warn("keeper_ended", {}, "the process that keeps watch over the command has ended: the command is killed");
    commands_->kill_all(command.group);
    command.at.take_from(command.group, true);
    command.over = cannot_go_on_ = true;
    command.status = failed;
}

} // namespace zklock::tool

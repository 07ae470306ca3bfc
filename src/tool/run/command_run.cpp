// What a lock_session does while its command runs: it tells the keeper how the lease goes on, passes signals on, and
// takes care that the terminal is where it belongs.
#include "tool/run/lock_session.hpp"

#include "tool/keeper/process_tree.hpp"
#include "tool/program/exit_status.hpp"

#include <fmt/format.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zklock::tool {

namespace asio = boost::asio;
using kind = event::kind;

/// One run of the command.
struct lock_session::command_state {
    terminal at;
    pid_t group = 0;                            ///< 0 before it runs
    int status = failed;                        ///< to end with
    bool over = false;                          ///< nothing is left of it
    bool lost = false;                          ///< the lock, before that
    bool ended = false;                         ///< the command has; others of its group may go on
    std::optional<lease_clock::time_point> hup; ///< when HUP was passed on, if no other signal to end was after it
    bool hung_up = false;                       ///< it was told that it has no terminal
    std::optional<lease_clock::time_point> kill_began; ///< by the tool, in the keeper's place
    bool outlived_told = false;
    bool stuck_told = false;
    bool denied_told = false;
};

namespace {

int status_of_command(int status)
{
    return WIFSIGNALED(status) ? signal_base + WTERMSIG(status) : WEXITSTATUS(status);
}

/// From one KILL to the next, as long as somebody is left.
constexpr std::chrono::milliseconds between_kills(5);
constexpr std::chrono::milliseconds between_late_kills(1000);

/// Errors of an execution that another attempt would have, too.
bool is_lasting(int error)
{
    return error == ENOENT || error == EACCES || error == ENOEXEC || error == ENOTDIR || error == ELOOP ||
           error == ENAMETOOLONG || error == E2BIG;
}

} // namespace

asio::awaitable<int> lock_session::run_command()
{
    command_state command;
    if (keeper_gone_)
        co_return without_keeper();
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
    signals_.unheed_job_control();
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
    case kind::caught: return caught(next.number, command);
    case kind::lost:
        if (!std::exchange(command.lost, true)) {
            tell_lost();
            commands_->lose(std::max(lease_end_, lease_clock::now()));
            tick_after(milliseconds(0)); // to watch the lease
        }
        return;
    case kind::revoked:
        out_.tell("revoked", {{"path", plan_.lock.path}}, "asked to let go");
        commands_->stop();
        return;
    case kind::tick:
        if (command.kill_began)
            return kill_in_its_place(command);
        if (const auto until = held_->held_until(); until > lease_end_)
            commands_->extend(lease_end_ = until);
        commands_->wake(); // stopped, it could not guard against a tool that is stopped next
        commands_->send_unsent();
        return tick_after(watch_lease(command));
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
    case report_kind::no_process: not_started(said, command); break;
    case report_kind::stopped: command_stopped(said.number, command); break;
    case report_kind::continued: out_.tell("continued", {}, "the command goes on"); break;
    case report_kind::ended: ended(said.number, command); break;
    case report_kind::stopping: // it knows the lease's end, too, and was first
        if (!std::exchange(command.lost, true))
            tell_lost();
        break;
    case report_kind::outlived: tell_outlived(command); break;
    case report_kind::denied: tell_denied(static_cast<std::size_t>(said.number)); break;
    case report_kind::stuck: tell_stuck(static_cast<std::size_t>(said.number)); break;
    case report_kind::gone: command.over = true; break;
    }
}

void lock_session::ended(int status, command_state& command)
{
    command.status = status_of_command(status);
    command.ended = true;
    const bool had_terminal = command.at.take_from(command.group, WIFSIGNALED(status));
    // HUP is no request to end if the command takes it for one to read its configuration again, and goes on.
    const bool hung_up = command.hup && lease_clock::now() - *command.hup <= plan_.stop.kill_after;
    // The terminal's keys reach the command alone if it has the terminal. Shells, and who handles the signal, tell by
    // the status.
    const int by = WIFSIGNALED(status) ? WTERMSIG(status) : command.status - signal_base;
    if (hung_up || (WIFSIGNALED(status) && by == SIGHUP))
        asked_to_end_ = SIGHUP;
    else if (had_terminal && (by == SIGINT || by == SIGQUIT))
        asked_to_end_ = by;
    out_.tell("ended", {{"status", command.status}}, fmt::format("ended with status {}", command.status));
}

void lock_session::not_started(const report& said, command_state& command)
{
    const bool executed = said.what == report_kind::not_started;
    command.over = true;
    cannot_go_on_ = executed && is_lasting(said.number);
    command.status = !executed ? failed : said.number == ENOENT ? not_found : not_executable;
    out_.warn("not_started", {{"command", plan_.command.front()}, {"error", ::strerror(said.number)}},
              fmt::format("cannot run {}: {}", printable(plan_.command.front()), ::strerror(said.number)));
}

void lock_session::tell_outlived(command_state& command)
{
    if (!std::exchange(command.outlived_told, true))
        out_.warn("outlived", {{"path", plan_.lock.path}},
                  fmt::format("the command was still there when the lease had ended: {} may have been somebody else's "
                              "beside it",
                              plan_.lock.path));
}

void lock_session::tell_stuck(std::size_t processes)
{
    out_.warn("stuck", {{"processes", processes}},
              fmt::format("{} processes of the command cannot be killed", processes));
}

void lock_session::tell_denied(std::size_t processes)
{
    out_.warn("not_permitted", {{"processes", processes}},
              fmt::format("{} processes of the command are another user's, and cannot be signalled or killed: the lock "
                          "is held until they end, and should it be lost, they go on",
                          processes));
}

void lock_session::caught(int number, command_state& command)
{
    if (number == SIGTERM || number == SIGINT || number == SIGQUIT || (number == SIGHUP && command.ended))
        asked_to_end_ = number;
    if (number == SIGHUP)
        command.hup = lease_clock::now();
    else if (ends_the_tool(number))
        command.hup.reset();
    commands_->signal(number);
}

/// When the lock is lost, the keeper has to stop the command, even if somebody has stopped the keeper. When it has not
/// done so at the end of the lease, this kills the command. Gives the time to the next look.
lock_session::milliseconds lock_session::watch_lease(const command_state& command) const
{
    const milliseconds usual = between_extensions();
    if (!command.lost)
        return usual;
    commands_->wake();
    const auto left = lease_end_ - plan_.stop.reserve - lease_clock::now();
    if (left > lease_clock::duration(0))
        return std::min(usual, std::chrono::ceil<milliseconds>(left));
    if (command.group > 0)
        ::kill(-command.group, SIGKILL);
    commands_->kill_if_stopped();             // its end has the tool kill all that is left
    return std::min(usual, milliseconds(20)); // should somebody stop it again, the reserve is not over
}

/// The command was stopped, and with it all of its group, most probably by the terminal.
void lock_session::command_stopped(int number, command_state& command)
{
    out_.tell("stopped", {{"signal", name_of_signal(number)}},
              fmt::format("the command was stopped by {}", name_of_signal(number)));
    const bool wants_terminal = number == SIGTTIN || number == SIGTTOU;
    if (wants_terminal && command.at.give_to(command.group))
        return commands_->signal(SIGCONT);
    if (!command.at.is_there() || !(wants_terminal || number == SIGTSTP))
        return; // somebody stopped it with a signal, and will have it go on
    const bool had_terminal = command.at.take_from(command.group, false);
    if (wants_terminal && is_orphaned(::getpgrp())) { // nobody could continue the tool, so it does not stop, either
        asked_to_end_ = SIGHUP;
        if (std::exchange(command.hung_up, true))
            return commands_->stop();
        commands_->signal(SIGHUP); // as the kernel does to those who have stopped and whose shell has gone
        return commands_->signal(SIGCONT);
    }
    // The shell is to see that its job has stopped: all of the job, which a key has not reached if the command had the
    // terminal. Meanwhile nobody extends the lease: the keeper watches its end.
    signals_.stop_ourselves(had_terminal || wants_terminal);
    if (had_terminal)
        command.at.give_to(command.group);
    commands_->signal(SIGCONT);
}

void lock_session::keeper_ended(command_state& command)
{
    out_.warn("keeper_ended", {}, "the process that keeps watch over the command has ended: the command is killed");
    cannot_go_on_ = true;
    command.status = failed;
    command.kill_began = lease_clock::now();
    kill_in_its_place(command);
}

void lock_session::kill_in_its_place(command_state& command)
{
    const signalled left = keeper::kill_all(command.group);
    command.over = left.all == 0;
    if (left.all != 0 && command.lost && lease_clock::now() >= lease_end_)
        tell_outlived(command);
    if (left.denied != 0 && !std::exchange(command.denied_told, true))
        tell_denied(left.denied);
    if (command.over) {
        command.at.take_from(command.group, true);
        return;
    }
    const bool late = lease_clock::now() - *command.kill_began > patience_with_kill;
    if (late && !std::exchange(command.stuck_told, true))
        tell_stuck(left.all);
    tick_after(late ? between_late_kills : between_kills);
}

} // namespace zklock::tool

#pragma once
#include "tool/keeper/keeper.hpp"
#include "tool/program/caught_signals.hpp"
#include "tool/program/client_log.hpp"
#include "tool/program/mailbox.hpp"
#include "tool/program/terminal.hpp"
#include "tool/program/voice.hpp"
#include "tool/run/progress.hpp"
#include "tool/run/run_arguments.hpp"
#include "tool/run/wanted_lock.hpp"

#include <zklock/client.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace zklock::tool {

/// Something that a lock_session waits for.
struct event {
    enum class kind {
        connected, ///< or not, for `error`
        acquired,  ///< or not, for `error`
        released,
        closed,
        caught,   ///< the signal `number`
        reported, ///< the keeper said `said`
        keeper_ended,
        lost,
        revoked, ///< somebody asks for the lock
        tick
    };

    event(kind of) : what(of) {} // NOLINT: a kind alone is an event, too
    event(kind of, error_code why) : what(of), error(why) {}
    event(kind of, int the_number) : what(of), number(the_number) {}

    kind what;
    error_code error;
    int number = 0;
    report said;
    std::optional<hold> held;
};

/// One program at one lock: it connects, waits, holds, and runs its command as long as it holds. It decides what to do
/// in one coroutine, on one thread; signals, the keeper and the client only put events into its mailbox.
class lock_session {
public:
    /// @param commands Null if there is no command.
    lock_session(boost::asio::io_context& io, const run_plan& plan, keeper* commands, voice& out);
    ~lock_session();
    lock_session(const lock_session&) = delete;
    lock_session& operator=(const lock_session&) = delete;

    // Each gives `succeeded`, or the status to end with; it has said why.
    /// Waits for a connection.
    boost::asio::awaitable<int> connect();
    /// Waits for the lock. The status of one that was not to be had may be 0, too (-E): holds() tells.
    boost::asio::awaitable<int> acquire();
    /// Runs the command while the lock is held, and returns when nothing is left of it: with its status, or the tool's.
    boost::asio::awaitable<int> run_command();
    /// Holds the lock until a signal comes, or it is lost.
    boost::asio::awaitable<int> hold_only();
    /// Gives the lock back, if it is held. `lock_lost` if it turns out that it had been lost.
    boost::asio::awaitable<int> release();
    /// Goes on holding the lock until so long after its grant: a signal, a loss and a request to let go end that.
    boost::asio::awaitable<void> hold_on(std::chrono::milliseconds after_grant);
    /// Waits for that long; a signal ends it.
    boost::asio::awaitable<int> pause(std::chrono::milliseconds time);
    /// Ends the client's session, and all waits.
    boost::asio::awaitable<void> close();

    [[nodiscard]] bool holds() const { return held_.has_value(); }
    /// The lock that is held has this node, and this token; there has to be one.
    [[nodiscard]] const std::string& node() const { return held_->node(); }
    [[nodiscard]] std::int64_t token() const { return held_->token(); }

    /// The signal that has asked the tool to end; 0 if none has.
    [[nodiscard]] int asked_to_end() const { return asked_to_end_; }
    /// Whether something has failed that another attempt would not make better.
    [[nodiscard]] bool cannot_go_on() const { return cannot_go_on_; }

private:
    struct command_state;

    using milliseconds = std::chrono::milliseconds;

    client_options listening(boost::asio::io_context& io, client_options options);
    void connection_changed(const connection_event& news);
    boost::asio::awaitable<event> finish(event::kind what);
    void watch_hold();
    void tick_after(milliseconds time);
    void tell_acquired(bool by_certificate);
    int acquire_failed(error_code why);
    int without_keeper();
    int no_connection_because(error_code why);
    void tell_lost();
    void handle(const event& next, command_state& command);
    void reported(report said, command_state& command);
    void ended(int status, command_state& command);
    void caught(int number, command_state& command);
    void command_stopped(int number, command_state& command);
    void not_started(const report& said, command_state& command);
    void tell_outlived(command_state& command);
    void tell_stuck(std::size_t processes);
    void tell_denied(std::size_t processes);
    [[nodiscard]] milliseconds watch_lease(const command_state& command) const;
    void keeper_ended(command_state& command);
    void kill_in_its_place(command_state& command);
    [[nodiscard]] milliseconds between_extensions() const;

    const run_plan plan_;
    keeper* const commands_;
    voice& out_;
    mailbox<event> events_;
    caught_signals signals_;
    boost::asio::steady_timer ticks_;
    client_log log_;
    std::int64_t session_ = 0; ///< the last one
    bool cut_off_ = false;
    client zk_;
    wanted_lock lock_;
    lease_clock::time_point deadline_;
    boost::asio::cancellation_signal cancel_;
    std::optional<hold> held_;
    lease_clock::time_point granted_{};
    lease_clock::time_point lease_end_{}; ///< as last known, also after a loss
    std::shared_ptr<progress> progress_;
    bool keeper_gone_ = false;
    int asked_to_end_ = 0;
    bool cannot_go_on_ = false;
};

} // namespace zklock::tool

#pragma once
#include "zklock/client_options.hpp"
#include "zklock/connection_state.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/detail/saturate.hpp"
#include "zklock/errc.hpp"
#include "zklock/result.hpp"

#include <boost/asio/execution_context.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>

namespace zklock {

/// A connection to a ZooKeeper ensemble: one session at a time, a new one after an expiry.
///
/// **Handles.** A client is a handle to shared state, and so is each mutex made from it; copies are cheap. When the
/// last of them goes without a `close()`, the client closes in the background: what is pending completes with
/// `errc::closed`, what is held is lost. A pending operation is no handle, and neither is a guard.
///
/// **Executor.** All work is done on the given executor, on a strand of the client's own; no thread is created, except
/// by Asio's resolver for host *names*. The executor's context may be run by any number of threads. `run()` of an
/// `io_context` does not return while a client is open.
///
/// **Lifetime.** The execution context may be destroyed first. Handlers that are pending are then destroyed without
/// being called, as Asio does; clients, mutexes and guards that are left over are inert: their operations end with
/// `errc::closed` (a guard's as if it was lost), on the system executor unless the handler has one of its own.
///
/// **Completion.** Each handler is called exactly once, on its associated executor (by default the client's), and never
/// inside the call that started the operation. Outstanding work is kept on both executors until then.
///
/// **Errors** that any operation of any object of this library can end with, besides its own: `errc::closed`,
/// `errc::invalid_option` (an option of the client is out of range), `errc::authentication_failed`.
///
/// **Thread safety.** Distinct objects: safe, whatever they share. One object: not safe, as with Asio's I/O objects,
/// except that `state()`, `session_id()` and `get_executor()` may be called from any threads.
class client {
public:
    using executor_type = asio::any_io_executor;

    /// Starts to connect, in the background; never blocks. Invalid options are reported by every operation, not here.
    /// @throws std::bad_alloc.
    client(asio::any_io_executor executor, client_options options);

    /// As above, for an execution context such as `asio::io_context`.
    template <class Context>
        requires std::convertible_to<Context&, asio::execution_context&>
    client(Context& context, client_options options) : client(context.get_executor(), std::move(options))
    {
    }

    /// The executor given to the constructor; the system executor once its context is gone.
    [[nodiscard]] executor_type get_executor() const { return detail::executor_of(handle_); }

    /// Waits for a connection that can be used.
    ///
    /// @param timeout Any duration: one that does not fit means for ever, zero or less looks once.
    ///
    /// @par Completion `void(error_code)`.
    /// - success: connected, and the chroot's node exists.
    /// - `errc::timed_out`: the time is up. The client goes on trying.
    /// - `errc::no_such_chroot`: the chroot's own node does not exist. Asked again by the next call.
    /// - `errc::authentication_failed`: the servers refused the credentials. Final.
    /// - `errc::invalid_option`, `errc::closed`; `asio::error::operation_aborted` when cancelled.
    ///
    /// @par Cancellation Terminal, partial and total all end the wait, and nothing else.
    template <class Rep, class Period, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_connected(std::chrono::duration<Rep, Period> timeout, Token&& token = Token())
    {
        return asio::async_initiate<Token, void(error_code)>(
            detail::initiate_wait_connected(handle_, detail::saturate(timeout)), token);
    }

    /// Ends the session. Everything pending completes first: waiting acquires, and releases under way, with
    /// `errc::closed`; held locks are lost. Afterwards every operation ends with `errc::closed`.
    ///
    /// It is bounded in time, connected or not. Without a connection the servers cannot be told: nodes then live until
    /// the session's time-out.
    ///
    /// @par Completion `void(error_code)`: success, also for a second close (when the first is done); posted after the
    /// handlers of everything that was pending. `asio::error::operation_aborted` when cancelled.
    ///
    /// @par Cancellation Terminal, partial and total only stop the waiting: the client closes all the same.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto close(Token&& token = Token())
    {
        return asio::async_initiate<Token, void(error_code)>(detail::initiate_close(handle_), token);
    }

    /// Where the client stands; from any thread. `failed` also for invalid options, `closed` also when the execution
    /// context is gone.
    [[nodiscard]] connection_state state() const noexcept;

    /// The ensemble's number for the session, 0 when there is none; from any thread.
    [[nodiscard]] std::int64_t session_id() const noexcept;

private:
    friend class detail::client_access;
    std::shared_ptr<detail::client_handle> handle_;
};

} // namespace zklock

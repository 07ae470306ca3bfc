// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client_options.hpp"
#include "zklock/detail/access.hpp"
#include "zklock/detail/node_operations.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/detail/saturate.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"
#include "zklock/metrics.hpp"
#include "zklock/node.hpp"
#include "zklock/result.hpp"

#include <boost/asio/execution_context.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zklock {

/// A connection to a ZooKeeper ensemble. It has one session at a time, and opens a new one after an expiry.
///
/// **Handles.** A client is a handle to shared state, and so is each mutex made from it; copies are cheap. When the
/// last of them goes without a `close()`, the client closes in the background: what is pending completes with
/// `errc::closed`, what is held is lost. A pending operation is no handle, and neither is a guard. A client or lock
/// that was moved from may be assigned to or destroyed, and nothing else.
///
/// **Executor.** All work is done on the given executor, on a strand of the client's own. The library makes threads
/// only for calls that block. To look up host *names* and to read TLS files, there are up to eight of them for a
/// context, and up to 33 while some of the calls last longer than two seconds; for Kerberos, up to eight for a process.
/// Any number of threads may run the context. `run()` of an `io_context` does not return while a client is open, unless
/// the client has failed. An operation that is started on a thread of the client's `io_context`, while the client waits
/// for no answer, takes its first step in the call: it writes to the socket, and does not wait for an answer.
///
/// **Lifetime.** The execution context may be destroyed first; its destructor waits for host names that are being
/// looked up. Pending handlers are destroyed without being called, as Asio does. Clients, locks and guards that are
/// left over are inert: a guard counts as lost, and operations of a client or a lock end with `errc::closed`, on the
/// system executor unless the handler has another. What was held goes with the session. The session ends at once if the
/// connection takes one more request at that moment; otherwise it expires. The log names what was held, at level
/// warning.
///
/// **Processes.** After a `fork()`, a client that was run before belongs to the parent, with session, connection and
/// locks. The child's copies are inert: they are `closed`, and hold nothing; it may destroy them and their context. A
/// child that goes on with the context tells the context so (`notify_fork()`, as Asio demands; before the fork that
/// call waits for host names that are being looked up): the copies are then as if the context were gone. No other
/// thread may be in the context or in any client during the fork. Programs that the process starts inherit no socket of
/// the client, unless another thread forks in the moment between the C client's `socket()` and our setting
/// `FD_CLOEXEC`.
///
/// **Completion.** Each handler is called exactly once, on its associated executor (by default the client's), and never
/// inside the call that started the operation. Until then the operation counts as outstanding work of both executors.
///
/// **Lazy tokens.** With `use_awaitable` or `deferred` an operation, of any object, begins when it is awaited or
/// called. One that is never started has no effect: a guard whose release is not awaited keeps its lock. And an
/// operation keeps no guard: one that goes away before its release or its downgrade begins is released by that.
///
/// **Errors.** Besides its own errors, any operation of any object of this library can end with `errc::closed`,
/// `errc::invalid_option` (an option of the client is out of range) and `errc::authentication_failed`.
///
/// **Out of memory.** An operation that cannot be started throws `std::bad_alloc` at its caller, and has done nothing.
/// Where memory fails inside the client, the client fails as a whole: its guards are lost at once, it grants and sends
/// nothing more, and `state()` is `failed`. The session is left to its time-out: nobody else gets a lock sooner than
/// after a lost connection. Operations under way, and later ones, end with `not_enough_memory` (`boost::system::errc`),
/// but those that tell of a loss, `guard::wait_lost()` and `guard::release()`, do so. Destructors need no memory. Other
/// clients go on; make a new one.
///
/// A handler whose own executor throws, for want of memory or else, is destroyed uncalled; what that throws comes out
/// of the `run()` of the client's context, and the client goes on.
///
/// An executor of the client that throws fails the client, too, and operations end with `errc::closed`, or with
/// `not_enough_memory` if that is what it says. Handlers that it does not take are destroyed uncalled. What it throws
/// comes out of the context's `run()`, where Asio lets it through. If it was to have the client go on, as with an
/// answer or a timer, the client stands still until it is used next, and fails then; its guards are lost with their
/// lease. A body of `run()` whose executor throws may stand still likewise. A listener's executor that throws costs
/// that listener's events only.
///
/// **Thread safety.** Distinct objects: safe, whatever they share. One object: not safe, like Asio's I/O objects, but
/// `state()`, `session_id()`, `metrics()` and `get_executor()` may be called from any threads. Any threads may copy it,
/// too, also during operations, as long as none assigns to it, moves from it, or destroys it meanwhile.
class client {
public:
    using executor_type = asio::any_io_executor; ///< what `get_executor()` gives

    /// Starts to connect, in the background; never blocks. Invalid options are reported by every operation, not here.
    /// @throws std::bad_alloc; boost::system::system_error when the system has no descriptor left for the context.
    client(asio::any_io_executor executor, client_options options);

    /// Makes a client on the executor of an execution context such as `asio::io_context`.
    template <class Context>
        requires std::convertible_to<Context&, asio::execution_context&>
    client(Context& context, client_options options) : client(context.get_executor(), std::move(options))
    {
    }

    /// The executor given to the constructor; the system executor once its context is gone.
    [[nodiscard]] executor_type get_executor() const { return detail::executor_of(state_); }

    /// Waits for a connection that can be used.
    ///
    /// @param timeout Any duration: one too long for the clock means for ever, zero or less looks once. On connecting,
    /// the client looks at the chroot's node and proves its credentials: so a call that looks once succeeds only a
    /// round trip after `state()` has become `connected`.
    ///
    /// @par Completion `void(error_code)`.
    /// - success: the client is connected, and the chroot's node exists.
    /// - `errc::not_connected`: the time is up. The client goes on trying. `errc::tls_failed`: the same, and TLS has
    ///   failed with all servers. (`condition::not_in_time` is both.)
    /// - `errc::no_such_chroot`: the chroot's own node does not exist. The next call looks for it again.
    /// - `errc::authentication_failed`: the servers refuse the credentials, or demand others. That is final.
    /// - `errc::server_error`: the servers refused to tell whether the chroot's node exists. The next call asks again.
    /// - `errc::invalid_option`: an option is out of range; or it is connected, and the servers grant a session that is
    ///   too short for a lease (`client_options::session_timeout`): nodes can be read and written, but no lock held.
    /// - `errc::closed`; `asio::error::operation_aborted` when cancelled.
    ///
    /// @par Cancellation Terminal, partial and total all end the wait, and nothing else.
    template <class Rep, class Period, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_connected(std::chrono::duration<Rep, Period> timeout, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_wait_connected>(token, state_, detail::saturate(timeout));
    }
    /// Waits for a connection that can be used, for as long as it takes: as `wait_connected(timeout)`, without a limit.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_connected(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_wait_connected>(token, state_, lease_clock::duration::max());
    }

    /// Ends the session. Everything pending completes first: waiting acquires, and releases under way, with
    /// `errc::closed`; held locks are lost. Afterwards every operation ends with `errc::closed`.
    ///
    /// A close takes two seconds or little more at most, connected or not. But while the system looks up a host name
    /// for the client, which cannot be interrupted, `run()` of an `io_context` does not return, and the destructor of
    /// the `io_context` waits, too. Without a connection the servers cannot be told: nodes then live until the
    /// session's time-out.
    ///
    /// @par Completion `void(error_code)`: success; a second close succeeds when the first is done. The handler is
    /// posted after those of everything that was pending, or was begun until then. `asio::error::operation_aborted`
    /// when cancelled.
    ///
    /// @par Cancellation Terminal, partial and total only stop the waiting: the client closes all the same.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto close(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_close>(token, state_);
    }

    /// @name Nodes
    /// A small set of operations on nodes, besides the locks. Paths are below the chroot; `/` is the chroot's node.
    ///
    /// @par Connection
    /// Each operation waits for a connection, as long as it takes; those that wait are sent in the order of their
    /// calls. A read whose connection is lost is repeated on the next. A write is done once at most: when its answer is
    /// lost, it ends with `errc::outcome_unknown`, and is never repeated. What is read after that, through the same
    /// client, shows what became of it: on the new connection a `sync` goes first. (There is one exception: a leader
    /// that the others have just replaced answers the `sync` and the read from the past, for up to a tick.) A write
    /// that meets a connection that is just being lost, or that the servers refuse to look at (the session is another
    /// connection's by now, say), has certainly not been done: it waits for the next connection, in its old place.
    ///
    /// @par Order
    /// The servers execute all operations and transactions of a client in the order of the calls; only a read that is
    /// repeated comes after what was called meanwhile. Locks have an order of their own.
    ///
    /// @par Window
    /// At most 64 of these requests are under way at once; a list of children counts as up to 8. Those of them that
    /// write have at most 256 KiB of data together, or there is only one. The others wait in the client, in the order
    /// of the calls, and are sent as answers come. So no number of them can delay what locks need: heartbeats, creates
    /// and deletes never wait in that line, and few requests are sent before them. (What 64 answers bring has no bound
    /// but the network's: a program that reads nodes of a megabyte over a slow network has to read a few at a time.)
    /// All tries of one path (`try_acquire()`) together have one list under way.
    ///
    /// Operations that read queues or ask holders (`contenders()`, `holders()`, `leader()`, `revoke_holders()` and
    /// their like) use the same window. An operation that needs many requests shares the window with the others: the
    /// next call does not wait for all of a long list. A request that is cancelled before it is sent is never sent.
    ///
    /// @par Errors
    /// Besides its own errors, each operation can end with `errc::access_denied`, `errc::server_error`,
    /// `errc::invalid_path`, `errc::invalid_option` (the request is longer than the servers' default limit of 1 MiB, an
    /// access list cannot be right, or an option of the client is out of range), `errc::authentication_failed` and
    /// `errc::closed`, and a write with `errc::outcome_unknown` or `errc::quota_exceeded`. A read, or a list, also ends
    /// with `errc::access_denied` or `errc::server_error` when the servers refuse the `sync` before it: what was read
    /// might be too old. The next one asks for the `sync` again; `client_options::log` is told once for a connection.
    ///
    /// @par Cancellation
    /// Terminal, partial and total all end an operation at once: with `asio::error::operation_aborted` if
    /// nothing was changed and nothing will be. A write that was sent cannot be taken back: it ends with
    /// `errc::outcome_unknown`. To limit an operation in time, cancel it:
    /// `co_await (client.get(path) || timer.async_wait(asio::use_awaitable))`.
    /// @{

    /// Creates a node, with that access list; its parent has to exist. An ephemeral node lives as long as the session
    /// of this client. It does not count in `client_options::node_budget`, though the session's end lists it, too: keep
    /// the paths of all such nodes far below 2 MiB (twice jute.maxbuffer).
    ///
    /// @par Completion `void(error_code, std::string)`: the path of the node, with its number if it is sequential.
    /// - `errc::node_exists`.
    /// - `errc::no_node`: there is no parent, or no chroot.
    /// - `errc::invalid_path`: also if the parent is ephemeral.
    /// - `errc::server_error`: also if the node is a container, and the servers know none.
    /// - `errc::invalid_option`: also if the servers do not know a scheme or an id of the list, or `auth` in it would
    ///   stand for nobody.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::string)) Token = default_token>
    [[nodiscard]] auto create(std::string path, std::string data, node_kind kind, access_list access,
                              Token&& token = Token())
    {
        return detail::begin<Token, detail::start_create>(token, state_, std::move(path), std::move(data), kind,
                                                          std::optional(std::move(access)));
    }
    /// Creates a node with the client's access list. It completes as the `create()` with an access list does.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::string)) Token = default_token>
    [[nodiscard]] auto create(std::string path, std::string data, node_kind kind, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_create>(token, state_, std::move(path), std::move(data), kind,
                                                          std::optional<access_list>());
    }
    /// Creates a persistent node with the client's access list. It completes as the `create()` with an access list
    /// does.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::string)) Token = default_token>
    [[nodiscard]] auto create(std::string path, std::string data, Token&& token = Token())
    {
        return create(std::move(path), std::move(data), node_kind::persistent, std::forward<Token>(token));
    }

    /// Reads a node, as the server sees it that the client is connected to: that server may lag behind the others. A
    /// holder of a lock of this client sees what earlier holders have written, for the first read on a new connection
    /// goes behind a `sync`. One server can answer from an older past: a leader that the others have just replaced, and
    /// that does not know yet, for up to a tick. `guard::commit()` is safe from that: such a leader cannot execute it.
    /// @par Completion `void(error_code, node_content)`. `errc::no_node`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, node_content)) Token = default_token>
    [[nodiscard]] auto get(std::string path, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_get>(token, state_, std::move(path));
    }

    /// Replaces a node's data, if it has that version (`any_version`: whatever it has).
    /// @par Completion `void(error_code, node_stat)`: the node as it is now. `errc::no_node`, `errc::bad_version`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, node_stat)) Token = default_token>
    [[nodiscard]] auto set(std::string path, std::string data, std::int32_t version, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_set>(token, state_, std::move(path), std::move(data), version);
    }
    /// Replaces a node's data, whatever its version. It completes as the `set()` with a version does.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, node_stat)) Token = default_token>
    [[nodiscard]] auto set(std::string path, std::string data, Token&& token = Token())
    {
        return set(std::move(path), std::move(data), any_version, std::forward<Token>(token));
    }

    /// Deletes a node that has no children, if it has that version (`any_version`: whatever it has).
    /// @par Completion `void(error_code)`. `errc::no_node`, `errc::bad_version`, `errc::not_empty`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto remove(std::string path, std::int32_t version, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_remove>(token, state_, std::move(path), version);
    }
    /// Deletes a node that has no children, whatever its version. It completes as the `remove()` with a version does.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto remove(std::string path, Token&& token = Token())
    {
        return remove(std::move(path), any_version, std::forward<Token>(token));
    }

    /// Lists a node's children: their names, in no order. It answers from the same server as `get()`.
    /// @par Completion `void(error_code, std::vector<std::string>)`. `errc::no_node`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<std::string>)) Token = default_token>
    [[nodiscard]] auto children(std::string path, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_children>(token, state_, std::move(path));
    }

    /// Looks for a node. It answers from the same server as `get()`.
    /// @par Completion `void(error_code, std::optional<node_stat>)`: nothing if there is no such node.
    /// `errc::access_denied`, from servers from 3.8.4 and 3.9.2 on: it is there, and may not be read; earlier ones tell
    /// of it all the same.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::optional<node_stat>)) Token = default_token>
    [[nodiscard]] auto exists(std::string path, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_exists>(token, state_, std::move(path));
    }

    /// Reads a node's access list, from the same server as `get()`.
    /// @par Completion `void(error_code, node_access)`. `errc::no_node`. `errc::access_denied`: the client may neither
    /// read nor administrate the node. If it may only read it, the servers show `x` in place of a digest's hash.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, node_access)) Token = default_token>
    [[nodiscard]] auto get_acl(std::string path, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_get_acl>(token, state_, std::move(path));
    }

    /// Replaces a node's access list, if the node's `node_stat::acl_version` is that number. The servers do not count
    /// it as a change of the node: nobody who waits for one is told, and neither its version nor its `mzxid` changes.
    /// @par Completion `void(error_code)`. `errc::no_node`, `errc::bad_version`. `errc::access_denied`: the client may
    /// not administrate the node. `errc::invalid_option` is also told for the reasons that `create()` names.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto set_acl(std::string path, access_list access, std::int32_t acl_version, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_set_acl>(token, state_, std::move(path), std::move(access),
                                                           acl_version);
    }
    /// Replaces a node's access list, whatever its version. It completes as the `set_acl()` with a version does.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto set_acl(std::string path, access_list access, Token&& token = Token())
    {
        return set_acl(std::move(path), std::move(access), any_version, std::forward<Token>(token));
    }

    /// Does all operations of a transaction, or none: see `guard::commit()` for one that a lock guards.
    ///
    /// @par Completion `void(error_code, commit_result)`. The error is that of the operation that was refused, and
    /// `commit_result::failed` tells which one that is: `asio::as_tuple(asio::use_awaitable)` gives both.
    /// `errc::invalid_option` also for the creation of a container. A transaction without operations succeeds without a
    /// request, once there is a connection.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, commit_result)) Token = default_token>
    [[nodiscard]] auto commit(transaction what, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_commit>(token, state_, std::move(what));
    }
    /// @}

    /// @name Waiting for nodes
    /// Each operation waits until a node is in a certain state, and begins with a look at the node. Because it compares
    /// states, a change ends the wait even if it happened before the call, or while there was no connection. But a node
    /// that was created and deleted between two looks is not noticed. A wait goes on over reconnects and expired
    /// sessions, and has no limit in time.
    ///
    /// @par Seen
    /// `seen` is what `get()`, `exists()`, `set()` or another wait of this client gave; its zxids are compared. If
    /// another client gave it, it may be newer than what this client's server knows: the wait may then say that a node
    /// is gone which that server has not heard of yet. A leader that the others have just replaced may cause the same
    /// (see `get()`).
    ///
    /// @par Requests
    /// A wait takes one request when it begins, or none where another wait of the client at that path shares its look
    /// and its watch; one more when something has happened to the node, unless that is its deletion; and one on each
    /// new connection, behind a `sync`. A wait that is cancelled, or that has nothing to wait for, takes its watch back
    /// with one more request, unless another wait or a lock of the client uses that watch. Looks share the window (see
    /// Window).
    ///
    /// @par Errors
    /// `errc::access_denied`: the client may not read the node (see `exists()`). Servers do not tell what happens to
    /// such a node: a client that loses that permission during a wait hears of nothing before its next connection.
    /// `errc::server_error`, `errc::invalid_path`, `errc::invalid_option`, `errc::authentication_failed`,
    /// `errc::closed`; `asio::error::operation_aborted` when cancelled.
    ///
    /// @par Cancellation
    /// Terminal, partial and total all end the wait at once, and nothing else.
    /// @{

    /// Waits until there is such a node.
    /// @par Completion `void(error_code, node_stat)`: the node as it was found.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, node_stat)) Token = default_token>
    [[nodiscard]] auto wait_created(std::string path, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_wait_created>(token, state_, std::move(path));
    }

    /// Waits until the node that was seen is gone: there is none at that path, or a new one.
    /// @par Completion `void(error_code)`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_deleted(std::string path, node_stat seen, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_wait_deleted>(token, state_, std::move(path),
                                                                std::optional<node_stat>(seen));
    }
    /// Waits until the node is gone that the first look finds. It succeeds at once if there is none.
    /// @par Completion `void(error_code)`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_deleted(std::string path, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_wait_deleted>(token, state_, std::move(path),
                                                                std::optional<node_stat>());
    }

    /// Waits until the node's data have been set since it was seen, or the node that was seen is gone.
    /// @par Completion `void(error_code, std::optional<node_stat>)`: the node as it was found, which is what the next
    /// wait takes as `seen`; nothing if there is no node.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::optional<node_stat>)) Token = default_token>
    [[nodiscard]] auto wait_changed(std::string path, node_stat seen, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_wait_changed>(token, state_, std::move(path), seen);
    }

    /// Waits until a child of the node has come or gone since it was seen, or the node that was seen is gone. To follow
    /// the list of children, call `exists()`, then `children()`, then this with what `exists()` gave: a child that came
    /// in between ends the wait. For each look, the servers list all children.
    /// @par Completion `void(error_code, std::optional<node_stat>)`: the node as it was found; nothing if there is
    /// none.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::optional<node_stat>)) Token = default_token>
    [[nodiscard]] auto wait_children_changed(std::string path, node_stat seen, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_wait_children_changed>(token, state_, std::move(path), seen);
    }
    /// @}

    /// The state of the client: `failed` also if an option is invalid, `closed` also when the execution context is
    /// gone. May be called from any thread.
    [[nodiscard]] connection_state state() const noexcept;

    /// The session's id, or 0 when there is none. May be called from any thread.
    [[nodiscard]] std::int64_t session_id() const noexcept;

    /// How the client and its locks have fared since it was made. It takes no part in what the client does, and costs
    /// some microseconds; counting is always on. May be called from any thread, also after the end of the client.
    /// @throws std::bad_alloc
    [[nodiscard]] zklock::metrics metrics() const;

private:
    friend class detail::access;
    std::shared_ptr<detail::client_handle> state_;
};

} // namespace zklock

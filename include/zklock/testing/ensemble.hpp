// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/events.hpp"
#include "zklock/node.hpp"
#include "zklock/result.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/system_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace zklock::testing {

namespace asio = boost::asio;

class memory_ensemble; ///< what is behind it
class passage;

/// Waits on `lease_clock`, which `ensemble::pass()` and `stall()` move. They do not move an `asio::steady_timer`.
using timer = asio::basic_waitable_timer<lease_clock>;

/// An ensemble of ZooKeeper in the memory of this process, for unit tests: no server, no port, no Java. A client whose
/// `client_options::servers` is its name connects to it; a chroot may follow the name. So code that makes its own
/// client is tested as it is, with all recipes, listeners, metrics and log.
///
///     zklock::testing::ensemble zookeeper;
///     zklock::client_options options;
///     options.servers = zookeeper.servers();
///     zklock::client zk(io, options);
///
/// It has a thread, which wakes the clients; their handlers run on their own executors, as with real servers. Answers
/// take no time, unless `delay()` says otherwise. Credentials are not looked at: an access list with an entry of the
/// scheme `auth` lets everybody do everything. TLS and the hand-off past the servers are not there.
///
/// **Sessions** are named by their ids: `client::session_id()`, or `sessions()` for clients that a test does not see.
///
/// **Time** is that of `lease_clock`, of the whole process, which `pass()` and `stall()` move. Nodes have the times of
/// that clock, too.
///
/// **Lifetime.** It may end before its clients: they then lose their connection. **Thread safety.** Safe.
///
/// Every function may throw `std::bad_alloc`.
class ensemble {
public:
    /// @throws std::invalid_argument if an ensemble of that name exists, or no client could have it among its servers.
    explicit ensemble(std::string name = "zookeeper.test:2181");
    ~ensemble(); ///< all connections end
    ensemble(const ensemble&) = delete;
    ensemble& operator=(const ensemble&) = delete;

    /// The name: for `client_options::servers`.
    [[nodiscard]] const std::string& servers() const noexcept;

    // --- what is there ----------------------------------------------------------------------------------------------
    // As the servers see it, without a chroot. Watches fire, and no access list is looked at.

    /// The names of the children, sorted; empty if there is no such node.
    [[nodiscard]] std::vector<std::string> children(const std::string& path) const;
    /// The node; nothing if there is none.
    [[nodiscard]] std::optional<node_content> get(const std::string& path) const;
    /// Creates a node, and its parents where they are missing. Returns its path, with a number if it is sequential. An
    /// ephemeral node belongs to a session of nobody, which never ends: see `hold()`.
    /// @throws system_error with `errc::node_exists`; or with `errc::invalid_path`, below an ephemeral node, too
    std::string create(const std::string& path, const std::string& data = {}, node_kind kind = node_kind::persistent);
    /// Replaces the data. False if there is no such node.
    bool set(const std::string& path, const std::string& data);
    /// Deletes a node, as an operator would. False if there is none, or if it has children.
    bool remove(const std::string& path);
    /// Puts a contender of another program into the queue of a lock: it holds the lock, or waits for it. Its holder is
    /// called `identifier`. Returns its node, for `remove()`. With the path of a semaphore and `/leases`: a permit.
    std::string hold(const std::string& lock_path, const std::string& identifier = "somebody else");

    /// The sessions of clients that the servers know.
    [[nodiscard]] std::vector<std::int64_t> sessions() const;

    // --- what befalls a client --------------------------------------------------------------------------------------
    // It has happened when the function returns. What the client makes of it comes in its own turn. A session that is
    // not known has nothing happen to it.

    /// The servers end the session: its nodes go. The client is told when it has connected again, at once.
    void expire(std::int64_t session);
    /// The connection ends. The client connects again, at once.
    void cut(std::int64_t session);
    /// Nothing travels any more, either way, and nobody is told; nor can the client connect again before `mend()`.
    void part(std::int64_t session);
    /// What the connection still holds arrives, if both ends have kept it that long.
    void mend(std::int64_t session);

    /// The servers stop: all connections end, and none is made before `start()`. Meanwhile no session ends.
    void stop();
    void start(); ///< each session has its whole time-out again

    // --- requests ---------------------------------------------------------------------------------------------------

    /// Kinds of requests. A transaction of several writes is a `batch`: it matches a path if one of the writes does.
    enum class request : std::uint8_t { any, create, remove, set, batch, read, sync };
    /// What becomes of one.
    enum class fate : std::uint8_t {
        refuse_access,       ///< it is refused, as by an access list: `errc::access_denied`
        refuse_server_error, ///< it is refused with an error of the server's
        lose_before,         ///< the connection ends before it is done
        lose_after,          ///< it is done, and the connection ends before the answer comes
        no_answer            ///< it is done, and nothing is answered over this connection any more
    };
    /// The next so many requests of that kind, on paths that begin so, have that fate. Of several rules the first that
    /// matches counts.
    void next(request what, std::string path_prefix, fate becomes, unsigned times = 1);
    /// From now on answers to such requests take so long, on `lease_clock`. What is answered later waits behind them.
    void delay(request what, std::string path_prefix, std::chrono::nanoseconds by);
    void clear(); ///< forgets all of `next()` and `delay()`

    /// How many have come since the ensemble was made. Pings do not count.
    [[nodiscard]] std::size_t requests(request what = request::any) const;

    // --- time -------------------------------------------------------------------------------------------------------
    // The clock is the process's. So there may be one ensemble then, and no client of real servers.

    /// Lets time pass: it jumps from one thing that is due to the next, for clients and servers, by a second at most.
    /// In between, whatever is ready runs: heartbeats go on, and no lease ends for it. What is due by an
    /// `asio::steady_timer` is not.
    ///
    /// @par Completion `void(error_code)`, exactly once, on the handler's associated executor, never inside this call,
    /// and always with success. Clients' executors have to be run meanwhile. One at a time.
    ///
    /// @par Cancellation It is not cancelled.
    ///
    /// @throws std::logic_error if there is another ensemble, a client of real servers, or a call under way.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    auto pass(std::chrono::nanoseconds time, Token&& token = Token())
    {
        return asio::async_initiate<Token, void(error_code)>(
            [this](auto handler, std::chrono::nanoseconds by) {
                const auto executor = asio::get_associated_executor(handler, asio::system_executor());
                begin_pass(by, std::move(handler), executor);
            },
            token, time);
    }
    /// The process stands still for so long, as after SIGSTOP or in a suspended machine: the servers go on, and nothing
    /// of the process runs. Guards say at once what has become of them; all else catches up.
    ///
    /// @throws std::logic_error as `pass()` does; and for a time below 0.
    void stall(std::chrono::nanoseconds time);

private:
    void begin_pass(std::chrono::nanoseconds, asio::any_completion_handler<void(error_code)>, asio::any_io_executor);
    void expect_alone() const;

    std::shared_ptr<memory_ensemble> servers_;
    std::mutex one_passes_; // guards what follows
    std::unique_ptr<passage> passing_;
};

} // namespace zklock::testing

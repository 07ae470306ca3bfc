// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/client.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/detail/run.hpp"
#include "zklock/detail/saturate.hpp"
#include "zklock/detail/standard.hpp"
#include "zklock/events.hpp"
#include "zklock/guard.hpp"
#include "zklock/lock_options.hpp"
#include "zklock/lockable.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zklock {

/// The owner of a re-entrant lock. It is an identity, because neither coroutines nor threads have one that could serve.
/// The default constructor makes a new owner each time; a copy is the same owner. Give a copy to all who act on its
/// behalf.
///
/// An owner is known within this process only. It is trivially copyable, and as thread safe as an integer.
class lock_owner {
public:
    /// Makes a new owner. May be called from any thread. @throws nothing.
    lock_owner() noexcept;

    /// The owner's id, which no other owner of this process has; never 0.
    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

    /// Whether both are the same owner.
    friend bool operator==(lock_owner, lock_owner) noexcept = default;

private:
    std::uint64_t id_;
};

/// A lock that its owner may acquire again while holding it. On the servers it is a `mutex`, and shares paths with
/// those, with Curator's `InterProcessMutex` and with others (`names`, `mark` and `also_heeds` of `mutex_options`):
/// they all exclude each other.
///
/// **Owners.** The owner is an object that is given to each acquire, not a thread. Each acquire that succeeds is one
/// *hold*, and gives a guard that stands for it; the lock is free when the last hold of the owner is released. All
/// holds of an owner share one node and one fencing token. All re-entrant mutexes of one *client* on one path are the
/// same lock: an owner may enter through any of them. Through another client the same owner is another contender, and
/// waits for itself.
///
/// **Acquiring again** costs no request and completes at once. While an acquire of the same owner is under way, a
/// further one joins it: it gets the same grant, or the same error; only its deadline and its cancellation are its own.
/// Its options do not count.
///
/// **Loss.** When the lock is lost, all holds are. Until the owner has released every one of them, its acquires fail
/// with `errc::lost`, so that nobody goes on with a lock that somebody else may have by now.
///
/// It is a handle to shared state and cheap to copy. See `mutex` for paths and options and `client` for executors,
/// lifetimes and the errors that every operation can end with. Thread safety: distinct objects: safe. One object: not
/// safe, except for `path()`, `hold_count()`, `is_held()`, `owned_by()`, `last_timeout()` and `get_executor()`.
///
/// The idea, and the name of the lock's nodes, are those of Curator's `InterProcessMutex`.
class reentrant_mutex {
public:
    using executor_type = asio::any_io_executor; ///< what `get_executor()` gives

    /// Sends nothing: each operation tells of bad input. The client stays open as long as a handle of the lock is
    /// there. Throws std::bad_alloc.
    reentrant_mutex(const client& c, std::string path, mutex_options options = {});

    /// The client's executor; the system executor once its context is gone. From any thread.
    [[nodiscard]] executor_type get_executor() const { return detail::executor_of(state_); }
    /// The lock's path; valid as long as this object or a copy of it is there. From any thread.
    [[nodiscard]] const std::string& path() const noexcept { return detail::path_of(state_); }
    /// What the last acquire that ended at its deadline had waited for: see `mutex::last_timeout()`.
    [[nodiscard]] std::optional<wait_report> last_timeout() const { return detail::last_timeout_of(state_); }

    /// How many holds the owner has on this path through this client: guards that have not been released, even if their
    /// lock is lost. It counts what the client's strand has done so far: a guard that went away may count for a moment
    /// longer. None in a process that was forked off.
    [[nodiscard]] std::size_t hold_count(lock_owner owner) const;

    /// Whether the owner holds the lock, through any object on this path of this client, as far as this process can
    /// know: it has a hold, and has not lost it. It looks at the clock, not at the network. As with `hold_count()`, a
    /// guard that went away may count for a moment longer. From any thread. Throws std::bad_alloc.
    [[nodiscard]] bool is_held(lock_owner owner) const;
    /// Whether any owner does: Curator's `isAcquiredInThisProcess()`. From any thread. Throws std::bad_alloc.
    [[nodiscard]] bool is_held() const;

    /// Waits for the lock; takes one more hold at once if the owner has it.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also when the owner has, or is acquiring, the lock with nodes of another name, heeds
    ///   other names, or has it as an `owned_shared_mutex`.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; an acquire that has
    /// joined another only ends itself.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire(lock_owner owner, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(lock_of(owner)));
    }

    /// Waits for the lock until a deadline, counted from the start of the operation. `timeout` may be any duration: one
    /// too long for the clock means for ever; zero or less looks once.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - one of `condition::not_in_time`: the deadline has passed, as `mutex::acquire(timeout)` tells.
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also for the reasons that `acquire(owner)` names.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; an acquire that has
    /// joined another only ends itself.
    template <class Rep, class Period, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire(lock_owner owner, std::chrono::duration<Rep, Period> timeout, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(lock_of(owner), detail::saturate(timeout)));
    }

    /// Takes the lock if the owner has it or it is free now.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - `errc::busy`: somebody else holds the lock or queues for it, or the owner itself waits for it.
    /// - `errc::not_connected`: the client is disconnected. It is `errc::tls_failed` if TLS has failed with all
    ///   servers. A try never waits for a connection; `mutex::try_acquire()` tells how long it may last.
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also for the reasons that `acquire(owner)` names.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; a try that has joined
    /// another acquire only ends itself.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto try_acquire(lock_owner owner, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::trying<guard>(lock_of(owner)));
    }

    /// Gives one hold back on behalf of an owner, if it is the owner's: `co_await lock.release(me, held)`. The guard is
    /// then empty. A guard may also be released by itself, by `guard::release()`.
    ///
    /// @par Completion `void(error_code)`, with the errors of `guard::release()`, and `errc::not_owner` when the guard
    /// is empty, of another owner, or of another lock: it then stays as it is.
    ///
    /// @par Cancellation Terminal, partial and total only stop the waiting: the release goes on in the background.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto release(lock_owner owner, guard& held, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_owned_release>(token, state_,
                                                                 detail::take_if_owned(state_, owner.id(), held));
    }

    /// Reads who holds the lock and who waits: see `mutex::contenders()`. An owner is listed once, however often it
    /// holds.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<contender>)) Token = default_token>
    [[nodiscard]] auto contenders(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_contenders>(token, state_);
    }

    /// Asks a contender to let go: see `mutex::revoke()`. All holds of an owner are told.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto revoke(const contender& whom, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_revoke>(token, state_, whom.node);
    }
    /// Asks the holder of the lock to let go: see `mutex::revoke_holder()`. Errors and cancellation are those of
    /// `mutex::revoke()`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::size_t)) Token = default_token>
    [[nodiscard]] auto revoke_holder(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_revoke_holders>(token, state_);
    }

    /// Runs `body` while the owner holds the lock once more: see `mutex::run()`. An error of the acquire is one of
    /// `mutex::acquire()`, or `errc::lost` or `errc::invalid_option` with the meaning that `acquire(owner)` gives it.
    template <class Body> [[nodiscard]] auto run(lock_owner owner, Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(lock_of(owner)), std::forward<Body>(body));
    }

    /// Runs `body` while the owner holds the lock once more, as `mutex::run()` does, but waits for the lock only until
    /// a deadline, counted from the start of the operation. `timeout` may be any duration: one too long for the clock
    /// means for ever; zero or less looks once. An error of the acquire is one of `mutex::acquire()`, or another that
    /// `acquire(owner, timeout)` lists.
    template <class Rep, class Period, class Body>
    [[nodiscard]] auto run(lock_owner owner, std::chrono::duration<Rep, Period> timeout, Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(lock_of(owner), detail::saturate(timeout)),
                                  std::forward<Body>(body));
    }

    /// For `multi_lock`: this lock, to be acquired for that owner.
    [[nodiscard]] lockable owned_by(lock_owner owner) const
    {
        return detail::access::make<lockable>(lock_of(owner));
    }

private:
    [[nodiscard]] std::shared_ptr<detail::lock_state> lock_of(lock_owner owner) const
    {
        return detail::owned_by(state_, owner.id());
    }

    std::shared_ptr<detail::lock_state> state_;
};

/// A lock with readers and writers that its owner may acquire again while holding it. On the servers it is a
/// `shared_mutex`, and shares paths with those, with Curator's `InterProcessReadWriteLock` and with others
/// (`shared_mutex_options::names`): a writer of one excludes all others of every kind, a reader excludes their writers.
///
/// **Owners.** As with `reentrant_mutex`, the owner is an object that is given to each acquire, not a thread. Each
/// acquire that succeeds is one *hold*, a writer's or a reader's, and gives a guard that stands for it. All holds of an
/// owner share one node and one fencing token. All objects of one *client* on one path are the same lock: an owner may
/// enter through any of them. Through another client the same owner is another contender.
///
/// **A writer may acquire again,** as a writer and as a reader. That costs no request and completes at once. So does a
/// reader that reads once more, even if writers of others wait by now.
///
/// **A reader cannot become a writer.** While an owner only reads, or waits to, its acquires as a writer end with
/// `errc::not_upgradable`: two readers that tried would wait for each other for ever. An owner that may have to write
/// has to acquire as a writer first.
///
/// **From writer to reader.** When the last of its holds as a writer is released and holds as a reader are left, the
/// owner goes on as a reader, and no writer gets in between: readers that wait for no other writer are let in. It keeps
/// its fencing token, and gets another node. That is a `shared_mutex::downgrade()`, and takes one request. The release
/// ends when it is done. If the servers refuse it, the release ends with `errc::access_denied` or `errc::server_error`,
/// and all others stay excluded until the owner has released its last hold.
///
/// **While an acquire of the same owner is under way,** a further one joins it; a reader may also join a writer. It
/// gets the same grant, or the same error; only its deadline and its cancellation are its own. Its options do not
/// count. If only readers are left of those that have joined, they queue anew as readers, so that they need not wait
/// for other readers. But if the grant was on its way, they get it, and the owner goes on as a reader at once.
///
/// **Loss.** When the lock is lost, all holds are. Until the owner has released every one of them, its acquires fail
/// with `errc::lost`.
///
/// It is a handle to shared state and cheap to copy. See `shared_mutex` for the order in which others are served, and
/// for tokens, `mutex` for paths and options and `client` for executors, lifetimes and the errors that every operation
/// can end with. Thread safety: distinct objects: safe. One object: not safe, except for `path()`, `hold_count()`,
/// `hold_count_shared()`, `is_held()`, `is_held_shared()`, `exclusive()`, `shared()`, `last_timeout()` and
/// `get_executor()`.
///
/// The idea, and the names of the nodes, are those of Curator's `InterProcessReadWriteLock`, whose owners are threads.
class owned_shared_mutex {
public:
    using executor_type = asio::any_io_executor; ///< what `get_executor()` gives

    /// Sends nothing: each operation tells of bad input. The client stays open as long as a handle of the lock is
    /// there. Throws std::bad_alloc.
    owned_shared_mutex(const client& c, std::string path, shared_mutex_options options = {});

    /// The client's executor; the system executor once its context is gone. From any thread.
    [[nodiscard]] executor_type get_executor() const { return detail::executor_of(writers_); }
    /// The lock's path; valid as long as this object or a copy of it is there. From any thread.
    [[nodiscard]] const std::string& path() const noexcept { return detail::path_of(writers_); }
    /// What the last acquire that ended at its deadline, a reader's or a writer's, had waited for: see
    /// `mutex::last_timeout()`.
    [[nodiscard]] std::optional<wait_report> last_timeout() const { return detail::last_timeout_of(writers_); }

    /// How many holds as a writer, or as a reader, the owner has on this path through this client: guards that have not
    /// been released, even if their lock is lost. As with `reentrant_mutex::hold_count()`, a guard that went away may
    /// count for a moment longer; and there are none in a process that was forked off. From any thread. They throw
    /// std::bad_alloc.
    [[nodiscard]] std::size_t hold_count(lock_owner owner) const;
    /// The same, of holds as a reader.
    [[nodiscard]] std::size_t hold_count_shared(lock_owner owner) const;

    /// Whether the owner holds the lock as a writer, through any object on this path of this client, as far as this
    /// process can know: see `reentrant_mutex::is_held()`. From any thread. Throws std::bad_alloc.
    [[nodiscard]] bool is_held(lock_owner owner) const;
    /// Whether any owner does. From any thread. Throws std::bad_alloc.
    [[nodiscard]] bool is_held() const;
    /// Whether the owner has a hold as a reader, perhaps beside those as a writer. From any thread. Throws
    /// std::bad_alloc.
    [[nodiscard]] bool is_held_shared(lock_owner owner) const;
    /// Whether any owner has. From any thread. Throws std::bad_alloc.
    [[nodiscard]] bool is_held_shared() const;

    // --- writers -----------------------------------------------------------------------------------------------------

    /// Waits until the owner can hold the lock alone; takes one more hold at once if it is a writer already.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - `errc::not_upgradable`: the owner only reads, or waits to. It goes on doing so.
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also when the owner has, or is acquiring, the lock with nodes of another name, or as a
    ///   `reentrant_mutex`.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; an acquire that has
    /// joined another only ends itself.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire(lock_owner owner, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(writer(owner)));
    }

    /// Waits until the owner can hold the lock alone, or until a deadline, counted from the start of the operation.
    /// `timeout` may be any duration: one too long for the clock means for ever; zero or less looks once.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - one of `condition::not_in_time`: the deadline has passed, as `mutex::acquire(timeout)` tells.
    /// - `errc::not_upgradable`: the owner only reads, or waits to. It goes on doing so.
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also for the reasons that `acquire(owner)` names.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; an acquire that has
    /// joined another only ends itself.
    template <class Rep, class Period, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire(lock_owner owner, std::chrono::duration<Rep, Period> timeout, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(writer(owner), detail::saturate(timeout)));
    }

    /// Takes the lock if the owner is its writer, or if nobody has it or waits for it.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - `errc::busy`: another has the lock or waits for it, or the owner itself waits.
    /// - `errc::not_connected`: the client is disconnected. It is `errc::tls_failed` if TLS has failed with all
    ///   servers.
    /// - `errc::not_upgradable`: the owner only reads, or waits to. It goes on doing so.
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also for the reasons that `acquire(owner)` names.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; a try that has joined
    /// another acquire only ends itself.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto try_acquire(lock_owner owner, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::trying<guard>(writer(owner)));
    }

    /// Runs `body` while the owner holds the lock once more as a writer: see `mutex::run()`. An error of the acquire is
    /// one of `mutex::acquire()`, or `errc::not_upgradable`, `errc::lost` or `errc::invalid_option` with the meaning
    /// that `acquire(owner)` gives it.
    template <class Body> [[nodiscard]] auto run(lock_owner owner, Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(writer(owner)), std::forward<Body>(body));
    }

    /// Runs `body` while the owner holds the lock once more as a writer, as `mutex::run()` does, but waits for the lock
    /// only until a deadline, counted from the start of the operation. `timeout` may be any duration: one too long for
    /// the clock means for ever; zero or less looks once. An error of the acquire is one of `mutex::acquire()`, or
    /// another that `acquire(owner, timeout)` lists.
    template <class Rep, class Period, class Body>
    [[nodiscard]] auto run(lock_owner owner, std::chrono::duration<Rep, Period> timeout, Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(writer(owner), detail::saturate(timeout)),
                                  std::forward<Body>(body));
    }

    // --- readers -----------------------------------------------------------------------------------------------------

    /// Waits until all writers before the owner are gone; takes one more hold at once if the owner has the lock, as a
    /// reader or as a writer.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also for the reasons that `acquire(owner)` names.
    ///
    /// The guard is a reader's: others may hold one at the same time, unless the owner writes, too. `guard::node()` is
    /// the owner's node at the grant. When the owner stops writing, a reader's node replaces that one, and
    /// `contenders()` lists the new node. A transaction under the guard depends on the node that the owner has at that
    /// time. A transaction that would be sent while the owner's last release as a writer is under way ends with
    /// `errc::not_owner`.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; an acquire that has
    /// joined another only ends itself.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire_shared(lock_owner owner, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(reader(owner)));
    }

    /// Waits until all writers before the owner are gone, or until a deadline, counted from the start of the operation.
    /// `timeout` may be any duration: one too long for the clock means for ever; zero or less looks once. The guard is
    /// a reader's, as that of `acquire_shared(owner)` is.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - one of `condition::not_in_time`: the deadline has passed, as `mutex::acquire(timeout)` tells.
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also for the reasons that `acquire(owner)` names.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; an acquire that has
    /// joined another only ends itself.
    template <class Rep, class Period, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto acquire_shared(lock_owner owner, std::chrono::duration<Rep, Period> timeout,
                                      Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::waiting<guard>(reader(owner), detail::saturate(timeout)));
    }

    /// Takes one more hold if the owner has the lock, or joins the readers if no writer has it or waits for it. The
    /// guard is a reader's, as that of `acquire_shared(owner)` is.
    ///
    /// @par Completion `void(error_code, guard)`, with the errors of `mutex::acquire()`, and
    /// - `errc::busy`: a writer has the lock or waits for it, the client has no room for a node, or the owner itself
    ///   waits or tries to write.
    /// - `errc::not_connected`: the client is disconnected. It is `errc::tls_failed` if TLS has failed with all
    ///   servers.
    /// - `errc::lost`: the owner has holds of a lock that was lost, and has to release them first.
    /// - `errc::invalid_option`: also for the reasons that `acquire(owner)` names.
    ///
    /// @par Cancellation Terminal, partial and total all withdraw, as `mutex::acquire()` tells; a try that has joined
    /// another acquire only ends itself.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, guard)) Token = default_token>
    [[nodiscard]] auto try_acquire_shared(lock_owner owner, Token&& token = Token())
    {
        return detail::begin<Token>(token, detail::trying<guard>(reader(owner)));
    }

    /// Runs `body` while the owner holds the lock once more as a reader: see `mutex::run()`. An error of the acquire is
    /// one of `mutex::acquire()`, or `errc::lost` or `errc::invalid_option` with the meaning that `acquire(owner)`
    /// gives it.
    template <class Body> [[nodiscard]] auto run_shared(lock_owner owner, Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(reader(owner)), std::forward<Body>(body));
    }

    /// Runs `body` while the owner holds the lock once more as a reader, as `mutex::run()` does, but waits for the lock
    /// only until a deadline, counted from the start of the operation. `timeout` may be any duration: one too long for
    /// the clock means for ever; zero or less looks once. An error of the acquire is one of `mutex::acquire()`, or
    /// another that `acquire_shared(owner, timeout)` lists.
    template <class Rep, class Period, class Body>
    [[nodiscard]] auto run_shared(lock_owner owner, std::chrono::duration<Rep, Period> timeout, Body&& body)
    {
        return detail::run<guard>(detail::waiting<guard>(reader(owner), detail::saturate(timeout)),
                                  std::forward<Body>(body));
    }

    // --- both --------------------------------------------------------------------------------------------------------

    /// Gives one hold back on behalf of an owner, if it is the owner's: `co_await lock.release(me, held)`. The guard is
    /// then empty. A guard may also be released by itself, by `guard::release()`, or by its destructor.
    ///
    /// @par Completion `void(error_code)`, with the errors of `guard::release()`, and `errc::not_owner` when the guard
    /// is empty, of another owner, or of another lock: it then stays as it is.
    ///
    /// If this was the owner's last hold as a writer, and the owner has others as a reader, it completes when others
    /// may read. If the servers have refused that, it ends with `errc::access_denied` or `errc::server_error`; the hold
    /// is over in any case.
    ///
    /// @par Cancellation Terminal, partial and total only stop the waiting: the release goes on in the background.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto release(lock_owner owner, guard& held, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_owned_release>(token, writers_,
                                                                 detail::take_if_owned(writers_, owner.id(), held));
    }

    /// Reads who holds the lock and who waits, in the order of the queue: see `mutex::contenders()`. An owner is listed
    /// once, however often it holds: as a writer, as long as it is one. `contender::shared` tells the readers.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<contender>)) Token = default_token>
    [[nodiscard]] auto contenders(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_contenders>(token, writers_);
    }

    /// Asks a contender to let go: see `mutex::revoke()` and `shared_mutex::revoke()`. All holds of an owner are told.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto revoke(const contender& whom, Token&& token = Token())
    {
        return detail::begin<Token, detail::start_revoke>(token, writers_, whom.node);
    }

    /// Asks all who hold the lock at one look to let go: see `mutex::revoke()` and `shared_mutex::revoke_holders()`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::size_t)) Token = default_token>
    [[nodiscard]] auto revoke_holders(Token&& token = Token())
    {
        return detail::begin<Token, detail::start_revoke_holders>(token, writers_);
    }

    /// For `multi_lock`: this lock, to be acquired for that owner as a writer, or as a reader.
    [[nodiscard]] lockable exclusive(lock_owner owner) const { return detail::access::make<lockable>(writer(owner)); }
    /// The same, as a reader.
    [[nodiscard]] lockable shared(lock_owner owner) const { return detail::access::make<lockable>(reader(owner)); }

private:
    using lock = std::shared_ptr<detail::lock_state>;

    [[nodiscard]] lock writer(lock_owner owner) const { return detail::owned_by(writers_, owner.id()); }
    [[nodiscard]] lock reader(lock_owner owner) const { return detail::owned_by(readers_, owner.id()); }

    lock writers_; ///< the lock, as writers acquire it
    lock readers_; ///< the same lock, as readers acquire it
};

} // namespace zklock

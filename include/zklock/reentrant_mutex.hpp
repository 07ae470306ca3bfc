// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/acquirable.hpp"
#include "zklock/client.hpp"
#include "zklock/detail/access.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/guard.hpp"
#include "zklock/lock_options.hpp"
#include "zklock/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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
/// **Owners.** The owner is an object, not a thread: `co_await shelf.owned_by(me).acquire(5s)`. Each acquire that
/// succeeds is one *hold*, and gives a guard that stands for it; the lock is free when the last hold of the owner is
/// released. All holds of an owner share one node and one fencing token. All re-entrant mutexes of one *client* on one
/// path are the same lock: an owner may enter through any of them. Through another client the same owner is another
/// contender, and waits for itself.
///
/// **Acquiring again** costs no request and completes at once. While an acquire of the same owner is under way, a
/// further one joins it: it gets the same grant, or the same error; only its deadline and its cancellation are its own.
/// Its options do not count.
///
/// **Loss.** When the lock is lost, all holds are. Until the owner has released every one of them, its acquires fail
/// with `errc::lost`, so that nobody goes on with a lock that somebody else may have by now.
///
/// The idea, and the name of the lock's nodes, are those of Curator's `InterProcessMutex`.
class reentrant_mutex : public queued_lock {
public:
    /// Sends nothing: each operation tells of bad input. The client stays open as long as a handle of the lock is
    /// there. Throws std::bad_alloc.
    reentrant_mutex(const client& c, std::string path, mutex_options options = {});

    /// This lock as that owner acquires it. If the owner has it, an acquire takes one more hold at once; a
    /// `try_acquire()` is `busy` if the owner itself waits for it. An acquire that has joined another withdraws alone
    /// when it is cancelled. It is `errc::invalid_option` if the owner has the lock, or is acquiring it, with nodes of
    /// another name, heeds other names, or has it as an `owned_shared_mutex`.
    ///
    /// Its `is_held()` asks whether the owner has a hold that is not lost, through any object on this path of this
    /// client; that of the lock itself, whether any owner has. As with `hold_count()`, a guard that went away may count
    /// for a moment longer.
    [[nodiscard]] acquirable<guard> owned_by(lock_owner owner) const
    {
        return detail::access::make<acquirable<guard>>(detail::owned_by(state(), owner.id()));
    }

    /// How many holds the owner has on this path through this client: guards that have not been released, even if their
    /// lock is lost. It counts what the client's strand has done so far: a guard that went away may count for a moment
    /// longer. None in a process that was forked off.
    [[nodiscard]] std::size_t hold_count(lock_owner owner) const noexcept;

    /// Gives one hold back on behalf of an owner, if it is the owner's: `co_await lock.release(me, held)`. The guard is
    /// then empty. A guard may also be released by itself, by `guard::release()`.
    ///
    /// @par Completion `void(error_code)`, with the errors of `guard::release()`, and `errc::not_owner` when the guard
    /// is empty, of another owner, or of another lock: it then stays as it is.
    ///
    /// @par Cancellation Terminal, partial and total only stop the waiting: the release goes on in the background.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto release(lock_owner owner, guard& held, Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_owned_release>(
            token, state(), std::weak_ptr(detail::access::state(held)), owner.id());
    }
};

/// A lock with readers and writers that its owner may acquire again while holding it. On the servers it is a
/// `shared_mutex`, and shares paths with those, with Curator's `InterProcessReadWriteLock` and with others
/// (`shared_mutex_options::names`): a writer of one excludes all others of every kind, a reader excludes their writers.
///
/// **Owners.** As with `reentrant_mutex`, the owner is an object, not a thread. Each acquire that succeeds is one
/// *hold*, a writer's or a reader's, and gives a guard that stands for it. All holds of an owner share one node and one
/// fencing token. All objects of one *client* on one path are the same lock: an owner may enter through any of them.
/// Through another client the same owner is another contender.
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
/// See `shared_mutex` for the order in which others are served, and for tokens.
///
/// The idea, and the names of the nodes, are those of Curator's `InterProcessReadWriteLock`, whose owners are threads.
class owned_shared_mutex : public queued_lock {
public:
    /// Sends nothing: each operation tells of bad input. The client stays open as long as a handle of the lock is
    /// there. Throws std::bad_alloc.
    owned_shared_mutex(const client& c, std::string path, shared_mutex_options options = {});

    /// This lock as that owner acquires it to write: alone, or once more at once if it is the writer already. What
    /// `reentrant_mutex::owned_by()` says holds here, too. Its `is_held()`, and that of the lock itself, ask for holds
    /// as a writer.
    [[nodiscard]] acquirable<guard> owned_by(lock_owner owner) const
    {
        return detail::access::make<acquirable<guard>>(detail::owned_by(state(), owner.id()));
    }
    /// This lock as that owner acquires it to read: when all writers before it are gone, or once more at once if it has
    /// the lock, as a reader or as a writer. A `try_acquire()` is also `busy` when the client has no room for a node.
    /// Its `is_held()` asks for holds as a reader, perhaps beside those as a writer.
    ///
    /// Others may hold a reader's guard at the same time, unless the owner writes, too. `guard::node()` is the owner's
    /// node at the grant. When the owner stops writing, a reader's node replaces that one, and `contenders()` lists the
    /// new node. A transaction under the guard depends on the node that the owner has at that time. A transaction that
    /// would be sent while the owner's last release as a writer is under way ends with `errc::not_owner`.
    [[nodiscard]] acquirable<guard> shared(lock_owner owner) const
    {
        return detail::access::make<acquirable<guard>>(detail::owned_by(readers_, owner.id()));
    }

    /// Whether any owner has a hold as a reader.
    [[nodiscard]] bool is_held_shared() const noexcept { return detail::count_held(readers_) != 0; }
    /// How many holds as a writer the owner has on this path: see `reentrant_mutex::hold_count()`.
    [[nodiscard]] std::size_t hold_count(lock_owner owner) const noexcept;
    /// The same, of holds as a reader.
    [[nodiscard]] std::size_t hold_count_shared(lock_owner owner) const noexcept;

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
    [[nodiscard]] auto release(lock_owner owner, guard& held, Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_owned_release>(
            token, state(), std::weak_ptr(detail::access::state(held)), owner.id());
    }

private:
    std::shared_ptr<detail::lock_state> readers_; ///< the same lock, as readers acquire it
};

} // namespace zklock

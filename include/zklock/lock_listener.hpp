// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/built_alike.hpp"
#include "zklock/lock_event.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <functional>

namespace zklock {

namespace asio = boost::asio;

/// How many events may wait for a listener's executor, unless another number is given. They take 15 MB or so.
inline constexpr std::size_t most_waiting_events = 65'536;

/// Makes a listener of a function.
///
///     options.listener = zklock::listen(io.get_executor(), [](const zklock::lock_event& e) { … });
///
/// @param executor Where the function is called, by `post`: never inside a call of the library, and on the client's
/// strand only if it is that. It may have several threads.
/// @param told It is called with each event of each lock that has this listener, once, and never twice at a time. The
/// events of an acquire come in the order that `lock_event` states, and all events of a client in the order in which
/// things happened. There is no order between these calls and the handlers of operations. What the function throws
/// comes out of the executor (`io_context::run()`) like an exception of any function posted there, and the next event
/// follows.
/// @param most How many events may wait (0 counts as 1) where they come faster than the executor takes them.
///
/// **A slow executor.** When `most` events wait, the next ones are dropped, and those that wait are told. But losses
/// (`lost`) have as much room again: one is dropped only when `most` losses wait. The next call carries the number of
/// dropped events (`lock_event::dropped`). There always is such a call, for an event for which there is no room is
/// dropped only while others wait. From then on events of an acquire may be missing: `contenders()` tells how things
/// stand.
///
/// **An executor that throws** as it is asked to take an event costs its listener time, and nobody else anything: the
/// event waits, as above, and is told with the next that the executor takes. `client_options::log` of the client whose
/// lock it was is told. An event for which there is no memory counts as dropped: the next event tells of it.
///
/// **Lifetime.** The function lives as long as the locks that have the listener, and their acquires; it is destroyed
/// with the last of them, on whatever thread that is. Events keep the executor busy while they are on their way, and
/// not between them. With the end of the executor's context the events end; the locks, and the client, may outlive it.
///
/// Thread safety: it may be called from any thread; a listener may serve locks of several clients.
///
/// That a place in the queue is told before the lock is held was asked for in Curator (CURATOR-592); callbacks of a
/// lock are known from ZooKeeper's `WriteLock`.
[[nodiscard]] lock_listener listen(asio::any_io_executor executor, std::function<void(const lock_event&)> told,
                                   std::size_t most = most_waiting_events);

} // namespace zklock

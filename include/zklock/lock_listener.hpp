#pragma once
#include "zklock/detail/event_sink.hpp"
#include "zklock/lock_event.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>

namespace zklock {

namespace asio = boost::asio;

/// Who is told what happens to the acquires of a lock (`mutex_options::listener`). Empty: nobody, at no cost.
using lock_listener = std::shared_ptr<detail::event_sink>;

/// Makes a listener of a function.
///
///     options.listener = zklock::listen(io.get_executor(), [](const zklock::lock_event& e) { … });
///
/// @param executor Where the function is called, by `post`: never inside a call of the library, and on the client's
/// strand only if it is that. May have several threads.
/// @param told Called with each event of each lock that has this listener, once. Never twice at a time, and in order:
/// for each acquire the order that `lock_event` states, for all of a client the order in which things happened. There
/// is no order between these calls and the handlers of operations. What it throws comes out of the executor as from any
/// function posted there (`io_context::run()`), and the next event follows.
///
/// **Lifetime.** The function lives as long as the locks that have the listener, and their acquires; it is destroyed
/// with the last of them, on whatever thread that is. Events keep the executor busy while they are on their way, and
/// not between them. With the end of the executor's context the events end; the locks, and the client, may outlive it.
///
/// Thread safety: from any thread; a listener may serve locks of several clients.
///
/// That a place in the queue is told before the lock is held was asked for in Curator (CURATOR-592); callbacks of a
/// lock are known from ZooKeeper's `WriteLock`.
[[nodiscard]] lock_listener listen(asio::any_io_executor executor, std::function<void(const lock_event&)> told);

} // namespace zklock

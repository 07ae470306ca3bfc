// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/connection_event.hpp"
#include "zklock/detail/built_alike.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <functional>

namespace zklock {

namespace asio = boost::asio;

/// Makes a listener of a function, which is called with each change of `client::state()`, once, in their order. A
/// client begins in `connecting`, or with options out of range in `failed`, which is told; `closed` is told when the
/// close begins, unless the client's context ends first. Credentials that the servers refuse are told as `failed`, with
/// the reason in `why`; `connected` and `suspended` may come before, for a session is opened before they are looked at.
///
///     options.listener = zklock::listen_to_connection(io.get_executor(), [](const zklock::connection_event& e) { … });
///
/// @param executor Where the function is called, by `post`: never inside a call of the library.
/// @param told It is never called twice at a time. By the time of the call the client may be in another state already.
/// @param most How many events may wait (0 counts as 1) where they come faster than the executor takes them. The next
/// ones are dropped, and counted.
///
/// What `listen()` in `lock_listener.hpp` says of exceptions, lifetime and threads holds here, too. A function that
/// uses the client has to have it from elsewhere, weakly if it is to close: the client keeps the listener.
///
/// That a client tells of its connection's states is known from Curator's `ConnectionStateListener`.
[[nodiscard]] connection_listener listen_to_connection(asio::any_io_executor executor,
                                                       std::function<void(const connection_event&)> told,
                                                       std::size_t most = 1024);

} // namespace zklock

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/named_enum.hpp"
#include "zklock/lease_clock.hpp"
#include "zklock/lock_loss.hpp"

#include <boost/system/error_code.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace zklock {

/// Something that happened to one acquire of a lock: what a `lock_listener` is told.
///
/// The events of an acquire come in this order, each once: `queued`, `acquired`, then `lost` or `released`; or
/// `failed`, at any point before `acquired`. `queued` comes again when the acquire got a new node, because its session
/// or its node came to an end while it waited.
///
/// **Of a semaphore** `queued` tells of the place in the waiting line: its node, and its `sequence`, which later events
/// keep. From `acquired` on `node` is that of the first permit. All permits of an acquire are one hold, also those that
/// were split off: `released` comes when the last of them is back, and `lost` instead of it when the first are lost.
///
/// With `began` and `at` these are what a tracer needs to make spans of, without a dependency of this library on one:
/// the wait (`began` to `acquired` or `failed`, with `queued` in it) and the hold (to `lost` or `released`).
/// For a time of another clock, subtract how long ago it is: `system_clock::now() - (lease_clock::now() - e.at)`.
struct lock_event {
    /// What has happened to an acquire.
    enum class kind : std::uint8_t {
        queued,   ///< it has a node, and so a place in the queue; before `acquired`, also where nobody is before it
        acquired, ///< it holds the lock
        lost,     ///< the lock was lost while it was held, which its release may be the first to find out; no release
                  ///< is told. A lock can be lost before its caller could be told of the grant: then the acquire fails
                  ///< with `errc::lost`
        released, ///< it was given back, and its node is gone or passed on; with an `error`, the client ended first
        failed    ///< it ended without the lock, for the reason in `error`; `operation_aborted` if it was cancelled.
                  ///< Where an acquire with no time to wait finds it `busy`, its caller hears `timed_out`, or
                  ///< `not_connected` if no others are known; and where it is `not_connected` because TLS has failed
                  ///< with all servers, `tls_failed`
    };

    kind what = kind::queued;        ///< what has happened
    std::uint64_t acquire = 0;       ///< the acquire's id: no other acquire of the client has it
    std::string path;                ///< the lock's path
    std::string node;                ///< full path of its node; empty before it was queued
    std::int32_t sequence = 0;       ///< its node's place in the queue: lower ones come first
    std::int64_t fencing_token = 0;  ///< 0 before it was acquired
    boost::system::error_code error; ///< why, if it has failed
    lock_loss loss;                  ///< with `lost`: why, and after how long
    lease_clock::time_point began{}; ///< when the acquire began
    lease_clock::time_point at{};    ///< when this happened: it may be told later
    /// With `released`: its guard was destroyed in the turn that delivered it, and nobody had looked whether there was
    /// one. Most probably its `co_await` has no name on its left: see `acquired.hpp`.
    bool unseen = false;
    /// How many events the listener has left out since the call before, because too many were waiting: see `listen()`.
    /// This one is the first that was waiting then; losses are left out last, and follow.
    std::uint64_t dropped = 0;
};

/// The name, as it is spelt above.
[[nodiscard]] constexpr std::string_view to_string(lock_event::kind e) noexcept
{
    switch (e) {
    case lock_event::kind::queued: return "queued";
    case lock_event::kind::acquired: return "acquired";
    case lock_event::kind::lost: return "lost";
    case lock_event::kind::released: return "released";
    case lock_event::kind::failed: return "failed";
    }
    return "unknown";
}

namespace detail {
template <class Event> class event_sink;
}

/// Who is told what happens to the acquires of a lock: an option of most locks. `listen()` makes one of a function.
/// Empty: nobody is told.
using lock_listener = std::shared_ptr<detail::event_sink<lock_event>>;

} // namespace zklock

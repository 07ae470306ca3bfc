#pragma once
// What the tool and its keeper say to each other: packets of a SOCK_SEQPACKET pair, each of them one of these.
#include <cstdint>

namespace zklock::tool {

/// What the tool asks of its keeper.
enum class order_kind : std::uint8_t {
    start,  ///< run the command; `until` is the end of the lease. Behind it in the packet: NAME=value, each with its 0
    signal, ///< send `number` to the command's group
    extend, ///< the lease now ends at `until`
    stop,   ///< stop the group: the lock is to be given back
    lose    ///< stop the group: the lock is lost, and may be somebody else's from `until` on
};

struct order {
    order_kind what = order_kind::signal;
    std::int32_t number = 0;
    std::int64_t until = 0; ///< nanoseconds of the lease_clock
};

/// What the keeper tells the tool.
enum class report_kind : std::uint8_t {
    started,     ///< the command runs; `number` is its process, and its group
    not_started, ///< it could not be executed; `number` is the errno
    no_process,  ///< there was no process to execute it in; `number` is the errno
    stopped,     ///< the command was stopped, by the signal `number`
    continued,
    ended,    ///< the command has ended; `number` is its status as waitpid() gives it
    stopping, ///< the end of the lease came too near: the group is being stopped, without an order
    outlived, ///< the lease has ended, and something of the command is still there
    denied,   ///< so many processes are another user's, and must not be signalled
    stuck,    ///< so many processes cannot be killed; the keeper goes on trying
    gone      ///< nothing is left of the command
};

struct report {
    report_kind what = report_kind::gone;
    std::int32_t number = 0;
};

} // namespace zklock::tool

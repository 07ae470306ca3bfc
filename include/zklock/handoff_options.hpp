// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/detail/same_library.hpp"

#include <string>
#include <vector>

namespace zklock {

/// Whether and how clients tell each other directly that a lock is free, and do not wait for the servers to say so. Off
/// at first, because it opens a port.
///
/// A client that lets a node go proves that to the client that waits for it, by a secret that the node's name commits
/// to, over a TCP connection between the two. The order of a queue remains the servers' affair: nobody can take a lock
/// by what it sends here, or jump a queue. A client that reaches nobody, or that nobody reaches, waits for the servers
/// as without; and so does everybody whose predecessor is a client without this option, or of another library.
///
/// **Who may connect** is for the network to say: a program that reaches the port can take one of a few places there.
/// It can also learn when a node is let go, if it knows the node's name. Names of locks are not said there. Nothing is
/// encrypted.
///
/// Values that cannot be used are `errc::invalid_option`, and `find_fault()` names them; so is `listen` where the
/// library was built without TLS (CMake's option ZKLOCK_TLS), because the hash is OpenSSL's.
struct handoff_options {
    handoff_options() = default; // no aggregate: see client_options

    /// The address and port on which the client is told who waits, such as `10.1.2.3:7411`, `[2001:db8::7]:0` or
    /// `0.0.0.0:0`: numeric; with port 0 the system chooses one. Empty: the client neither listens nor connects to
    /// others. If the address is not to be had (another process listens there, say), the client tries again and again,
    /// `log` tells why, and locks work as without.
    std::string listen;

    /// Where others reach the client, if that is not where it listens: an address, with or without a port, numeric.
    /// Each client needs its own, or takes others for itself. Empty: where it listens; and if that is any address
    /// (`0.0.0.0`, `[::]`), the one from which it is connected to its ZooKeeper server. `log` tells which.
    std::string advertise;

    /// The networks in which the client may connect to others, such as `10.0.0.0/8`, `2001:db8::/32`, or one address.
    /// Others write their addresses into nodes, where everybody who may write there can put what they like: so a client
    /// connects to no address outside of these, and to none if there are none. Link-local and multicast addresses are
    /// not connected to in any case, loopback addresses only if `127.0.0.0/8` or `::1`, or a part of them, is
    /// listed by itself.
    std::vector<std::string> peers;
};

} // namespace zklock

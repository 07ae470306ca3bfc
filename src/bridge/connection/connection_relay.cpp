// Where a relay stands between the server's socket and the C client: the two alternate, because the pair of sockets
// between them holds little, and what is in it makes the server's socket neither readable nor writable.
#include "bridge/connection/connection.hpp"
#include "bridge/wire/readiness.hpp"

#include <new>

namespace zklock::bridge {

namespace {

// After so many rounds, the executor's other work comes first.
constexpr int rounds_at_once = 4;

} // namespace

/// What the C client has written leaves, and it writes on, until all is gone or the server's socket takes no more. For
/// that the caller has to wait then.
interest connection::send_by_relay()
{
    for (;;) {
        auto next = wire_.next_interest();
        if (!held_back_)
            socket_.relay()->bring_out(socket_.descriptor());
        if (!wire_.has_socket())
            return next;
        if (held_back_ || !next.write || !wire_.is_connected() || socket_.relay()->holds_output()) {
            next.write = socket_.relay()->holds_output();
            return next;
        }
        // It reads, too; but where more is to be read, a turn for that is on its way.
        static_cast<void>(wire_.process(true, 1));
    }
}

/// True when there may be more to read.
bool connection::receive_by_relay()
{
    pair_relay& relay = *socket_.relay();
    for (int round = 0; round < rounds_at_once; ++round) {
        relay.bring_in(socket_.descriptor());
#ifdef ZKLOCK_WITH_SASL
        if (!dialer_.follow_gate())
            return false;
#endif
        if (relay.has_failed()) {
            wire_.tls_failed(relay.why());
            return false;
        }
        if (relay.now_in() == pair_relay::state::ended)
            wire_.log().will_end(relay.why());
        if (wire_.process(false, wire::packets_at_once))
            return true;
        const bool left = relay.holds_input() || (wire_.is_connected() && is_ready(wire_.descriptor(), POLLIN));
        if (!wire_.has_socket() || !left)
            return false;
    }
    return true;
}

/// The library's request to close needs room.
void connection::empty_the_pair() noexcept
{
    if (!socket_.relay() || wire_.is_forked() || !wire_.is_connected())
        return;
    held_back_ = false;
    try {
        static_cast<void>(send_by_relay());
    } catch (const std::bad_alloc&) { // NOLINT: then the session may end by its time-out
    }
}

} // namespace zklock::bridge

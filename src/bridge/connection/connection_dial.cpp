// How a connection makes the TCP connections that the wire goes on with.
#include "bridge/connection/connection.hpp"

#include <utility>

namespace zklock::bridge {

/// Makes the TCP connection that the wire is to have.
void connection::dial()
{
    drop_socket();
    const error_code ec = socket_.connect(io_->strand, connector_.address(), [this](const error_code& outcome) {
        in_turn([&] { dialed(outcome); });
    });
    if (!ec)
        return;
    wire_.unreached(ec);
    follow_wire();
}

void connection::dialed(const error_code& ec)
{
    if (!wire_.is_dialing())
        return; // it has had its time
    if (ec) {
        wire_.unreached(ec);
        follow_wire();
    } else {
        if (auto own = socket_.local_address())
            local_address_ = std::move(own);
#ifdef ZKLOCK_WITH_TLS
        if (options_.tls.enabled || login_)
            put_relay_between();
        else
#endif
            connected_by(socket_.descriptor());
    }
    deliver();
}

/// The library goes on with that socket.
void connection::connected_by(int socket)
{
    attempt_began_ = lease_clock::now();
    if (wire_.connect(socket))
        refresh();
    else
        follow_wire();
}

} // namespace zklock::bridge

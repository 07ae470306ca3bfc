// How a connection makes the TCP connections that the wire goes on with.
#include "bridge/connection/connection.hpp"
#include "runtime/sockets.hpp"

#include <boost/asio/bind_allocator.hpp>

#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>

namespace zklock::bridge {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

tcp::endpoint endpoint_of(const server_address& address)
{
    tcp::endpoint server;
    const auto size = address.socket.any.sa_family == AF_INET ? sizeof address.socket.ipv4 : sizeof address.socket.ipv6;
    server.resize(size);
    std::memcpy(server.data(), &address.socket, size);
    return server;
}

template <class Socket> error_code open_for(const tcp::endpoint& server, Socket& socket)
{
    error_code ec = runtime::open_socket(server.protocol(), socket);
    if (!ec)
        socket.set_option(tcp::no_delay(true), ec);
    return ec;
}

} // namespace

/// Makes the TCP connection that the wire is to have.
void connection::dial()
{
    drop_socket();
    const tcp::endpoint server = endpoint_of(connector_.address());
    auto made = std::make_unique<socket_type>(io_->strand);
    if (const error_code ec = open_for(server, *made)) {
        wire_.unreached(ec);
        follow_wire();
        return;
    }
    io_->socket = std::move(made);
    auto done = [self = shared_from_this(), generation = io_->socket_generation](const error_code& ec) {
        if (self->io_ && generation == self->io_->socket_generation && ec != asio::error::operation_aborted)
            self->turns_->run([&] { self->dialed(ec); });
    };
    io_->socket->async_connect(server, asio::bind_allocator(of_connect_.get(), std::move(done)));
    io_->waited_for_writing = true;
}

void connection::dialed(const error_code& ec)
{
    if (wire_.is_forked() || !wire_.is_dialing())
        return; // it is the parent's, or has had its time
    if (ec) {
        wire_.unreached(ec);
        follow_wire();
    } else {
        error_code unknown;
        if (const auto own = io_->socket->local_endpoint(unknown); !unknown)
            local_address_ = own.address();
#ifdef ZKLOCK_WITH_TLS
        if (options_.tls.enabled || login_)
            put_relay_between();
        else
#endif
            connected_by(server_socket());
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

/// Has Asio watch the connection by another duplicate, unless there is no descriptor left.
void connection::watch_anew()
{
    auto made = std::make_unique<socket_type>(io_->strand);
    const int own = ::fcntl(io_->socket->native_handle(), F_DUPFD_CLOEXEC, 0);
    if (own == -1 || runtime::take_over(own, endpoint_of(connector_.address()).protocol(), *made))
        return;
    forget_socket();
    io_->socket = std::move(made);
}

} // namespace zklock::bridge

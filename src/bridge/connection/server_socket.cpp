#include "bridge/connection/server_socket.hpp"
#include "runtime/forks.hpp"
#include "runtime/sockets.hpp"

#include <cstring>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace zklock::bridge {

using boost::asio::ip::tcp;

tcp::endpoint server_socket::endpoint_of(const server_address& address)
{
    tcp::endpoint server;
    const auto size = address.socket.any.sa_family == AF_INET ? sizeof address.socket.ipv4 : sizeof address.socket.ipv6;
    server.resize(size);
    std::memcpy(server.data(), &address.socket, size);
    return server;
}

error_code server_socket::open(const runtime::strand& strand, const tcp::endpoint& server)
{
    auto made = std::make_unique<socket_type>(strand);
    error_code ec = runtime::open_socket(server.protocol(), *made);
    if (!ec)
        made->set_option(tcp::no_delay(true), ec);
    if (ec)
        return ec;
    socket_ = std::move(made);
    protocol_ = server.protocol();
    return {};
}

std::optional<boost::asio::ip::address> server_socket::local_address() const
{
    error_code unknown;
    const auto own = socket_->local_endpoint(unknown);
    return unknown ? std::nullopt : std::optional(own.address());
}

void server_socket::cork(bool on)
{
    if (!socket_ || std::exchange(corked_, on) == on || relay_)
        return;
    int value = on;
    ::setsockopt(descriptor(), IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

void server_socket::say_goodbye()
{
    cork(false);
    if (relay_)
        relay_->say_goodbye(descriptor());
    ::shutdown(descriptor(), SHUT_WR);
    while (::recv(descriptor(), skipped_.data(), skipped_.size(), MSG_DONTWAIT) > 0) {
    }
}

void server_socket::drop()
{
    relay_.reset();
    forget();
}

void server_socket::forget()
{
    ++generation_;
    socket_.reset();
    to_read_.awaited = to_write_.awaited = waited_for_writing_ = reads_soon_ = corked_ = false;
}

void server_socket::leave_to_parent(bool told_of_fork)
{
    if (relay_)
        relay_->leave_to_parent();
    if (socket_ && !told_of_fork)
        runtime::leave_to_parent(descriptor());
}

void server_socket::await(bool write, bool read)
{
    if (read && !to_read_.awaited)
        await(to_read_);
    if (!write)
        return;
    waited_for_writing_ = true;
    if (!to_write_.awaited)
        await(to_write_);
}

/// If a wait for an earlier socket has not ended yet, the one for this socket begins when it does.
void server_socket::await(direction& way)
{
    if (!way.wait.under_way()) {
        auto ended = [this, kept = owner_.keep(), &way, generation = generation_](const error_code& ec) {
            if (way.awaited && !(reads_soon_ && &way == &to_read_)) // else a turn that reads is on its way
                owner_.wait_ended(&way == &to_write_,
                                  generation == generation_ && ec != boost::asio::error::operation_aborted);
        };
        way.wait.begin([&](auto handler) { socket_->async_wait(way.what, std::move(handler)); }, std::move(ended));
    }
    way.awaited = true;
}

bool server_socket::go_on(bool for_writing, bool ready)
{
    direction& way = for_writing ? to_write_ : to_read_;
    way.awaited = false;
    if (!ready)
        await(way);
    return ready;
}

void server_socket::read_soon() noexcept
{
    to_read_.awaited = reads_soon_ = true;
}

bool server_socket::begin_read(std::uint64_t turn) noexcept
{
    if (turn != generation_)
        return false;
    to_read_.awaited = reads_soon_ = false;
    return true;
}

void server_socket::forget_writing()
{
    if (!waited_for_writing_ || corked_ || reads_soon_)
        return;
    auto made = std::make_unique<socket_type>(socket_->get_executor());
    runtime::unique_fd own(::fcntl(descriptor(), F_DUPFD_CLOEXEC, 0));
    if (!own || runtime::take_over(std::move(own), protocol_, *made))
        return;
    forget();
    socket_ = std::move(made);
}

} // namespace zklock::bridge

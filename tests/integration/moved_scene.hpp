#pragma once
// Two ensembles, and addresses that pass from one to the other; names of this machine's own, which may move.
#include "support/admin_client.hpp"
#include "support/own_network.hpp"
#include "support/zookeeper_server.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <fstream>
#include <memory>
#include <thread>

namespace zklock::test {

namespace asio = boost::asio;

namespace detail {

using socket_ptr = std::shared_ptr<asio::ip::tcp::socket>;

inline asio::awaitable<void> pump(socket_ptr from, socket_ptr to)
{
    std::array<char, 4096> buffer{};
    for (boost::system::error_code ec;;) {
        const auto got =
            co_await from->async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, ec));
        if (!ec)
            co_await asio::async_write(*to, asio::buffer(buffer.data(), got),
                                       asio::redirect_error(asio::use_awaitable, ec));
        if (ec)
            break;
    }
    boost::system::error_code gone;
    to->shutdown(asio::ip::tcp::socket::shutdown_both, gone);
    from->shutdown(asio::ip::tcp::socket::shutdown_both, gone);
}

} // namespace detail

/// An address at which one server lives, and later another. It works on a thread of its own.
class place {
public:
    place(const std::string& address, std::uint16_t port)
        : acceptor_(context_, asio::ip::tcp::endpoint(asio::ip::make_address(address), port))
    {
        asio::co_spawn(context_, accept(), asio::detached);
        thread_ = std::thread([this] { context_.run(); });
    }
    ~place()
    {
        context_.stop();
        thread_.join();
    }
    place(const place&) = delete;
    place& operator=(const place&) = delete;

    /// From now on that server lives here, or with 0 one that is silent; all connections are cut.
    void belongs_to(std::uint16_t server_port)
    {
        asio::post(context_, [this, server_port] {
            server_port_ = server_port;
            boost::system::error_code gone;
            for (const auto& each : open_)
                each->shutdown(asio::ip::tcp::socket::shutdown_both, gone);
            open_.clear();
        });
    }

private:
    asio::awaitable<void> accept()
    {
        for (;;) {
            const auto client =
                std::make_shared<asio::ip::tcp::socket>(co_await acceptor_.async_accept(asio::use_awaitable));
            open_.push_back(client);
            if (server_port_ == 0)
                continue;
            const auto server = std::make_shared<asio::ip::tcp::socket>(context_);
            boost::system::error_code ec;
            server->connect({asio::ip::address_v4::loopback(), server_port_}, ec);
            if (ec)
                continue;
            asio::co_spawn(context_, detail::pump(client, server), asio::detached);
            asio::co_spawn(context_, detail::pump(server, client), asio::detached);
        }
    }

    asio::io_context context_{1};
    asio::ip::tcp::acceptor acceptor_;
    std::vector<detail::socket_ptr> open_;
    std::uint16_t server_port_ = 0;
    std::thread thread_;
};

/// Two ensembles, and two addresses with the same port: the first is ours at the start.
struct two_ensembles {
    zookeeper_server ours, other;
    port_lease port;
    place old_place{"127.0.0.1", port.port()}, new_place{"127.0.0.2", port.port()};

    two_ensembles()
    {
        reset();
        // The other one has come further, or it would hang up on who has seen more.
        admin_client admin(other.port());
        for (int n = 0; n < 300; ++n)
            admin.create("/n-", "", create_mode::ephemeral_sequential);
    }
    void reset()
    {
        old_place.belongs_to(ours.port());
        new_place.belongs_to(ours.port());
    }
    [[nodiscard]] std::string at_port(const std::string& host) const
    {
        return host + ':' + std::to_string(port.port());
    }
    void other_moves_in() { old_place.belongs_to(other.port()); }
};

/// A network of one's own, with hosts of its own in /etc/hosts.
class own_hosts : public own_network {
public:
    own_hosts() : own_network(true)
    {
        write("");
        add([this] { return ::mount(file().c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0; });
    }

    /// The file stays the same, or the mount would show the old one.
    void write(const std::string& lines) const { std::ofstream(file()) << lines; }

private:
    [[nodiscard]] std::string file() const { return directory_.path() / "hosts"; }

    temporary_directory directory_;
};

} // namespace zklock::test

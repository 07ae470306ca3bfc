#include "servers/relay.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace zklock::bench {

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;
using clock = asio::steady_timer::clock_type;

/// A connection from a client, and the one to the server that goes with it.
struct link {
    link(tcp::socket c, std::chrono::microseconds way, traffic* t)
        : client(std::move(c)), server(client.get_executor()), one_way(way), counted(t)
    {
    }
    void close()
    {
        boost::system::error_code ignored;
        client.close(ignored);
        server.close(ignored);
    }
    tcp::socket client, server;
    std::chrono::microseconds one_way;
    traffic* counted;
    request_counter requests;
};

/// What one side has sent and the other has not received.
struct direction {
    direction(std::shared_ptr<link> l, tcp::socket& source, tcp::socket& target)
        : owner(std::move(l)), from(source), to(target), changed(from.get_executor(), clock::time_point::max())
    {
    }
    struct chunk {
        clock::time_point due;
        std::vector<char> bytes;
    };
    std::shared_ptr<link> owner;
    tcp::socket& from;
    tcp::socket& to;
    std::deque<chunk> under_way;
    asio::steady_timer changed;
    bool ended = false;
};

awaitable<void> receive(std::shared_ptr<direction> d)
{
    std::array<char, 65'536> buffer;
    try {
        for (;;) {
            const auto size = co_await d->from.async_read_some(asio::buffer(buffer), use_awaitable);
            auto& l = *d->owner;
            if (l.counted != nullptr && &d->from == &l.client)
                l.counted->requested(l.requests.count({buffer.data(), size}));
            d->under_way.push_back({clock::now() + d->owner->one_way, {buffer.data(), buffer.data() + size}});
            if (d->under_way.size() == 1)
                d->changed.cancel();
        }
    } catch (const boost::system::system_error&) { // one of the two has closed
    }
    d->ended = true;
    d->changed.cancel();
}

awaitable<void> pass_on(std::shared_ptr<direction> d)
{
    try {
        for (;;) {
            if (d->under_way.empty()) {
                if (d->ended)
                    break;
                boost::system::error_code woken;
                d->changed.expires_at(clock::time_point::max());
                co_await d->changed.async_wait(asio::redirect_error(use_awaitable, woken));
                continue;
            }
            const auto due = d->under_way.front().due;
            if (due > clock::now()) {
                asio::steady_timer arrival{d->to.get_executor(), due};
                co_await arrival.async_wait(use_awaitable);
            }
            co_await asio::async_write(d->to, asio::buffer(d->under_way.front().bytes), use_awaitable);
            d->under_way.pop_front();
        }
    } catch (const boost::system::system_error&) { // one of the two has closed
    }
    d->owner->close();
}

awaitable<void> join(std::shared_ptr<link> l, tcp::endpoint server)
{
    try {
        co_await l->server.async_connect(server, use_awaitable);
    } catch (const boost::system::system_error&) { // the client sees its own connection close
        l->close();
        co_return;
    }
    const auto executor = l->client.get_executor();
    for (auto* socket : {&l->client, &l->server})
        socket->set_option(tcp::no_delay{true});
    const auto up = std::make_shared<direction>(l, l->client, l->server);
    const auto down = std::make_shared<direction>(l, l->server, l->client);
    for (const auto& d : {up, down}) {
        asio::co_spawn(executor, receive(d), asio::detached);
        asio::co_spawn(executor, pass_on(d), asio::detached);
    }
}

awaitable<void> accept(tcp::acceptor acceptor, tcp::endpoint server, std::chrono::microseconds one_way,
                       traffic* counted)
{
    const auto executor = acceptor.get_executor();
    for (;;) {
        auto client = co_await acceptor.async_accept(use_awaitable);
        if (counted != nullptr)
            counted->connected();
        auto joined = std::make_shared<link>(std::move(client), one_way, counted);
        asio::co_spawn(executor, join(std::move(joined), server), asio::detached);
    }
}

} // namespace

relay::relay(std::uint16_t server_port, std::chrono::microseconds one_way, traffic* counted)
{
    const auto local = asio::ip::address_v4::loopback();
    tcp::acceptor acceptor{io_, tcp::endpoint{local, 0}};
    address_ = "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
    asio::co_spawn(io_, accept(std::move(acceptor), tcp::endpoint{local, server_port}, one_way, counted),
                   asio::detached);
    thread_ = std::thread([this] { io_.run(); });
}

relay::~relay()
{
    io_.stop();
    thread_.join();
}

} // namespace zklock::bench

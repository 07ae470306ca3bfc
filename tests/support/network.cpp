#include "support/network.hpp"

#include "support/as_tuple.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>

namespace asio = boost::asio;

namespace zklock::test {
namespace {

using ip = asio::ip::tcp;

ip::endpoint local_at(std::uint16_t port)
{
    return {asio::ip::address_v4::loopback(), port};
}

std::string text_of(std::uint16_t port)
{
    return "127.0.0.1:" + std::to_string(port);
}

} // namespace

network::entrance::entrance(site f, site t, std::uint16_t port, asio::io_context& context)
    : from(f), to(t), target(port), acceptor(context, local_at(lease.port()))
{
}

std::uint16_t network::route(site from, site to, std::uint16_t port)
{
    return thread_.call([&] {
        auto& e = entrances_.emplace_back(from, to, port, thread_.context());
        asio::co_spawn(thread_.context(), accept(e), asio::detached);
        return e.lease.port();
    });
}

network::way& network::between(site from, site to)
{
    return ways_.try_emplace({from, to}, thread_.context()).first->second;
}

void network::open(way& w)
{
    w.blocked = false;
    w.delay = {};
    w.opened.cancel();
}

void network::block(site from, site to)
{
    thread_.call([&] { between(from, to).blocked = true; });
}

void network::cut(site a, site b)
{
    thread_.call([&] { between(a, b).blocked = between(b, a).blocked = true; });
}

void network::slow(site a, site b, milliseconds time)
{
    thread_.call([&] { between(a, b).delay = between(b, a).delay = time; });
}

void network::heal(site a, site b)
{
    thread_.call([&] {
        open(between(a, b));
        open(between(b, a));
    });
}

void network::heal_all()
{
    thread_.call([&] {
        for (auto& [sites, w] : ways_) {
            open(w);
            w.disturbed = false;
        }
    });
}

bool network::disturbed(site a, site b)
{
    return thread_.call([&] { return between(a, b).disturbed || between(b, a).disturbed; });
}

steady_clock::time_point network::last_passed(site from, site to)
{
    return thread_.call([&] { return between(from, to).last_passed; });
}

template <class F> void network::for_each_connection(site a, site b, F f)
{
    for (const auto& weak : connections_)
        if (const auto c = weak.lock(); c && ((c->from == a && c->to == b) || (c->from == b && c->to == a)))
            f(*c);
}

void network::reset(site a, site b)
{
    thread_.call([&] {
        for_each_connection(a, b, [this](connection& c) {
            close(c, c.near);
            close(c, c.far);
        });
    });
}

void network::half_open(site left, site gone)
{
    thread_.call([&] {
        for_each_connection(left, gone, [this, gone](connection& c) {
            c.half_open = true;
            close(c, c.from == gone ? c.near : c.far);
        });
    });
}

void network::close(const connection& c, tcp::socket& end)
{
    if (!end.is_open())
        return;
    boost::system::error_code closed_already;
    end.close(closed_already);
    between(c.from, c.to).disturbed = true;
}

asio::awaitable<void> network::accept(entrance& e)
{
    for (;;) {
        auto [ec, socket] = co_await e.acceptor.async_accept(as_tuple);
        if (ec)
            continue; // the peer gave up meanwhile
        std::erase_if(connections_, [](const auto& c) { return c.expired(); });
        const auto c = std::make_shared<connection>(e, std::move(socket));
        connections_.push_back(c);
        asio::co_spawn(thread_.context(), connect(c, e.target), asio::detached);
    }
}

asio::awaitable<void> network::until_open(way& w)
{
    w.disturbed = w.disturbed || w.blocked;
    while (w.blocked)
        co_await w.opened.async_wait(as_tuple);
}

asio::awaitable<void> network::connect(std::shared_ptr<connection> c, std::uint16_t target)
{
    co_await until_open(between(c->from, c->to));
    const auto endpoint = local_at(target);
    // The followers of a new leader often connect before it listens. When they are refused they try again. When they
    // are accepted, as here, and then closed, they go back to the election, which then takes up to a minute.
    constexpr int attempts = 20;
    boost::system::error_code gone;
    for (int attempt = 1;; ++attempt) {
        const auto [ec] = co_await c->far.async_connect(endpoint, as_tuple);
        if (!ec)
            break;
        c->far.close(gone);
        if (attempt == attempts) {
            c->near.close(gone);
            co_return;
        }
        asio::steady_timer timer(thread_.context(), milliseconds(5));
        co_await timer.async_wait(as_tuple);
    }
    c->near.set_option(ip::no_delay(true), gone);
    c->far.set_option(ip::no_delay(true), gone);
    asio::co_spawn(thread_.context(), pass(c, true), asio::detached);
    asio::co_spawn(thread_.context(), pass(c, false), asio::detached);
}

asio::awaitable<void> network::pass(std::shared_ptr<connection> c, bool forward)
{
    auto& source = forward ? c->near : c->far;
    auto& sink = forward ? c->far : c->near;
    way& w = forward ? between(c->from, c->to) : between(c->to, c->from);
    asio::steady_timer timer(thread_.context());
    std::string bytes;
    bool first = true;
    for (;;) {
        bytes.resize(32 * 1024);
        const auto [ended, count] = co_await source.async_read_some(asio::buffer(bytes), as_tuple);
        bytes.resize(count);
        if (w.delay != milliseconds::zero()) {
            w.disturbed = true;
            timer.expires_after(w.delay);
            co_await timer.async_wait(as_tuple);
        }
        co_await until_open(w);
        if (ended)
            break;
        if (c->half_open)
            continue;
        if (first)
            redirect(*c, bytes);
        first = false;
        const auto [failed, written] = co_await asio::async_write(sink, asio::buffer(bytes), as_tuple);
        w.last_passed = steady_clock::now();
        if (failed && !c->half_open)
            break;
    }
    if (!c->half_open) {
        boost::system::error_code closed_already;
        sink.shutdown(ip::socket::shutdown_send, closed_already);
        source.shutdown(ip::socket::shutdown_receive, closed_already);
    }
}

/// A member of an ensemble says, in the first bytes of a connection for elections, where it can be called back. That
/// has to be the way through here, too. All ports have five digits.
void network::redirect(const connection& c, std::string& bytes) const
{
    for (const auto& back : entrances_) {
        if (back.from != c.to || back.to != c.from)
            continue;
        if (const auto at = bytes.find(text_of(back.target)); at != std::string::npos)
            bytes.replace(at, text_of(back.target).size(), text_of(back.lease.port()));
    }
}

} // namespace zklock::test

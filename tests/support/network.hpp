#pragma once
#include "support/io_thread.hpp"
#include "support/polling.hpp"
#include "support/port_lease.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zklock::test {

/// The network between all servers and all clients, as relays on the loopback interface: needs no privileges.
///
/// Every process is a site. What one site sends another passes through here and can be kept, delayed or cut. The
/// members may be called from any thread but the relays' own.
class network {
public:
    using site = std::size_t;

    network() = default;
    ~network() { thread_.stop(); }
    network(const network&) = delete;
    network& operator=(const network&) = delete;

    /// Makes a way from a site to a port of another one, and returns the port by which to take it.
    std::uint16_t route(site from, site to, std::uint16_t port);

    /// Nothing that `from` sends arrives at `to`, and neither is told. What was sent arrives after heal().
    void block(site from, site to);
    void cut(site a, site b);                     ///< block(), both ways
    void slow(site a, site b, milliseconds time); ///< whatever passes between them takes so much longer
    void heal(site a, site b);                    ///< ends block() and slow()
    void heal_all();

    /// Whether anything between the two was kept, delayed or closed since heal_all().
    [[nodiscard]] bool disturbed(site a, site b);
    /// When `to` was last sent something of `from`. Nothing so far: the clock's epoch.
    [[nodiscard]] steady_clock::time_point last_passed(site from, site to);

    void reset(site a, site b); ///< closes the connections between the two
    /// Closes them at `gone` only: `left` is not told, and what it sends on them disappears.
    void half_open(site left, site gone);

private:
    using tcp = boost::asio::ip::tcp;
    template <class T> using awaitable = boost::asio::awaitable<T>;

    struct way { // from one site to another
        explicit way(boost::asio::io_context& context) : opened(context, boost::asio::steady_timer::time_point::max())
        {
        }
        bool blocked = false;
        bool disturbed = false;
        milliseconds delay{};
        steady_clock::time_point last_passed{};
        boost::asio::steady_timer opened; ///< never expires; cancelled when `blocked` ends
    };
    struct entrance {
        entrance(site from, site to, std::uint16_t port, boost::asio::io_context& context);
        site from, to;
        std::uint16_t target;
        port_lease lease;
        tcp::acceptor acceptor;
    };
    struct connection {
        connection(const entrance& e, tcp::socket accepted)
            : from(e.from), to(e.to), near(std::move(accepted)), far(near.get_executor())
        {
        }
        site from, to;
        tcp::socket near, far; ///< the ends of `from` and of `to`
        bool half_open = false;
    };

    awaitable<void> accept(entrance& e);
    awaitable<void> connect(std::shared_ptr<connection> c, std::uint16_t target);
    awaitable<void> pass(std::shared_ptr<connection> c, bool forward);
    awaitable<void> until_open(way& w);
    void close(const connection& c, tcp::socket& end);
    [[nodiscard]] way& between(site from, site to);
    void open(way& w);
    void redirect(const connection& c, std::string& bytes) const;
    template <class F> void for_each_connection(site a, site b, F f);

    io_thread thread_; // first, so that it outlives what uses its context
    std::map<std::pair<site, site>, way> ways_;
    std::list<entrance> entrances_;
    std::vector<std::weak_ptr<connection>> connections_;
};

} // namespace zklock::test

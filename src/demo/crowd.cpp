#include "crowd.hpp"

#include "sale_report.hpp"
#include "shopping.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <set>
#include <stdexcept>

namespace demo {

namespace {

namespace json = boost::json;
using asio::ip::tcp;
using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// The whole sale: what the coroutines below share.
struct sale {
    starting_gate gate;
    std::vector<purchase> purchases;
    std::vector<queue_view> queue_views;
    clock::time_point opened{};
    int shopping = 0; ///< buyers without an answer
};

asio::awaitable<void> shop(sale& s, int buyer, tcp::endpoint server, std::chrono::seconds patience)
{
    purchase& made = s.purchases[static_cast<std::size_t>(buyer)];
    made.buyer = name_of(buyer);
    auto executor = co_await asio::this_coro::executor;
    http_connection connection(executor, patience);
    co_await buy(s.gate, connection, server, json::object(), made);
    --s.shopping;
}

/// Looks at the queue again and again while the sale is on.
asio::awaitable<void> watch_queue(sale& s, tcp::endpoint server, std::chrono::seconds patience)
{
    auto executor = co_await asio::this_coro::executor;
    http_connection connection(executor, patience);
    co_await connection.connect(server);
    co_await s.gate.arrive();
    s.opened = clock::now();
    asio::steady_timer pause(executor);
    while (s.shopping > 0) {
        auto asked = clock::now();
        auto [status, body] = co_await connection.get("/queue");
        if (status != 200) {
            throw std::runtime_error("GET /queue: " + json::serialize(body));
        }
        queue_view view;
        view.at_ms = std::chrono::duration<double, std::milli>(clock::now() - s.opened).count();
        std::set<std::int64_t> sessions;
        for (const json::value& contender : body.at("queue").as_array()) {
            view.buyers.push_back(json::value_to<std::string>(contender.at("buyer")));
            sessions.insert(json::value_to<std::int64_t>(contender.at("session")));
        }
        view.sessions = sessions.size();
        s.queue_views.push_back(std::move(view));
        // A long queue is a lot to read: most of the time is left to the orders.
        pause.expires_after(std::max<clock::duration>(15ms, 5 * (clock::now() - asked)));
        co_await pause.async_wait(asio::use_awaitable);
    }
}

void report_failure(std::exception_ptr error)
{
    if (!error) {
        return;
    }
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        fmt::print("  The queue could not be watched to the end: {}\n", e.what());
    }
}

} // namespace

bool buy_all_at_once(const crowd_settings& s)
{
    std::vector<tcp::endpoint> servers;
    for (const std::string& text : s.servers) {
        servers.push_back(endpoint_of(text));
    }
    asio::io_context io(1);
    sale the_sale{{io.get_executor(), s.buyers + s.watch_queue}, {}, {}, {}, s.buyers};
    the_sale.purchases.resize(static_cast<std::size_t>(s.buyers));
    if (s.watch_queue) {
        asio::co_spawn(io, watch_queue(the_sale, servers.front(), s.patience), report_failure);
    }
    for (int buyer = 0; buyer < s.buyers; ++buyer) {
        const tcp::endpoint& server = servers[static_cast<std::size_t>(buyer) % servers.size()];
        asio::co_spawn(io, shop(the_sale, buyer, server, s.patience), [](std::exception_ptr error) {
            if (error) {
                std::rethrow_exception(error);
            }
        });
    }
    io.run();

    print_queue(the_sale.queue_views);
    return print_purchases(std::move(the_sale.purchases));
}

} // namespace demo

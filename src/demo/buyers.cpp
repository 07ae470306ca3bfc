// The buyers of the demonstration: all order one unit at the same moment, spread over the order servers, on one thread.
// Prints what became of each, in the order in which they had the lock.
#include "sale_report.hpp"
#include "shopping.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using asio::ip::tcp;
using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

struct settings {
    std::vector<std::string> servers;
    int buyers = 15;
    int patience_s = 60;
    bool watch_queue = false;
};

/// The whole sale: what the coroutines below share.
struct sale {
    demo::starting_gate gate;
    std::vector<demo::purchase> purchases;
    std::vector<demo::queue_view> queue_views;
    clock::time_point opened{};
    int shopping = 0; ///< buyers without an answer
};

asio::awaitable<void> shop(sale& s, int buyer, tcp::endpoint server, std::chrono::seconds patience)
{
    demo::purchase& made = s.purchases[static_cast<std::size_t>(buyer)];
    made.buyer = demo::name_of(buyer);
    auto executor = co_await asio::this_coro::executor;
    demo::http_connection connection(executor, patience);
    co_await demo::buy(s.gate, connection, server, json::object(), made);
    --s.shopping;
}

/// Looks at the queue again and again while the sale is on.
asio::awaitable<void> watch_queue(sale& s, tcp::endpoint server, std::chrono::seconds patience)
{
    auto executor = co_await asio::this_coro::executor;
    demo::http_connection connection(executor, patience);
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
        demo::queue_view view;
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

int main(int argc, char** argv)
{
    settings s;
    CLI::App app("Buyers who all order one unit at the same moment.");
    app.add_option("--server", s.servers, "ADDRESS:PORT of an order server; several: buyers take turns")->required();
    app.add_option("--buyers", s.buyers, "how many")->check(CLI::Range(1, 1'000))->capture_default_str();
    app.add_option("--patience", s.patience_s, "seconds that a buyer waits for an answer")
        ->check(CLI::Range(1, 3'600))
        ->capture_default_str();
    app.add_flag("--watch-queue", s.watch_queue, "show who queued, as read from ZooKeeper during the sale");
    std::vector<tcp::endpoint> servers;
    try {
        app.parse(argc, argv);
        for (const std::string& text : s.servers) {
            servers.push_back(demo::endpoint_of(text));
        }
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    } catch (const std::invalid_argument& e) {
        fmt::print(stderr, "buyers: {}\n", e.what());
        return 2;
    }

    asio::io_context io(1);
    std::chrono::seconds patience(s.patience_s);
    sale the_sale{{io.get_executor(), s.buyers + s.watch_queue}, {}, {}, {}, s.buyers};
    the_sale.purchases.resize(static_cast<std::size_t>(s.buyers));
    if (s.watch_queue) {
        asio::co_spawn(io, watch_queue(the_sale, servers.front(), patience), report_failure);
    }
    for (int buyer = 0; buyer < s.buyers; ++buyer) {
        const tcp::endpoint& server = servers[static_cast<std::size_t>(buyer) % servers.size()];
        asio::co_spawn(io, shop(the_sale, buyer, server, patience), [](std::exception_ptr error) {
            if (error) {
                std::rethrow_exception(error);
            }
        });
    }
    io.run();

    demo::print_queue(the_sale.queue_views);
    bool all_answered = demo::print_purchases(std::move(the_sale.purchases));
    return all_answered ? 0 : 1;
}

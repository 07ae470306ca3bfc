// One of the shop's order servers: HTTP on one thread, a database file shared with the other servers, and the lock.
//
//   POST /orders   {"buyer": "Ada"}   201 sold, 409 sold out, 503 the lock was not to be had (or was lost); with
//                                     "lock": false beside those who hold it; "rush": NUMBER, 410 when another rush
//                                     has begun by then
//                                     (503 whether others had the lock for too long or no server answered: for a
//                                     buyer 409 is the end, and both say "later")
//   GET  /report                      what the database says
//   GET  /queue                       who queues for the lock, the holder first
//   GET  /health                      200 when orders can be taken
//   GET  /metrics                     what the lock's client counts, for Prometheus
//   GET  /                            a page that shows stock, orders and the lock as they are, and starts rushes
//   GET  /events                      what that page shows, as server-sent events
//   POST /rush     {"lock": true}     a new stock, and buyers who all order at once: 202, 409 one is under way
// What is sent has to be application/json: 415 otherwise. It has to be asked by an address, as localhost, or by a name
// that --host lets in: 421 otherwise.
#include "http_server.hpp"
#include "order_routes.hpp"
#include "run_to_end.hpp"
#include "tls_arguments.hpp"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;

struct settings {
    std::string name = "A";
    std::string database;
    std::string listen = "127.0.0.1";
    std::uint16_t port = 0;
    std::vector<std::string> hosts;
    int payment_ms = 20;
    bool no_lock = false;
    bool session_per_order = false;
    bool fenced = false;
    std::string servers = "127.0.0.1:2181";
    zklock::tls_options tls;
    zklock::sasl_options sasl;
    std::string path = "/zklock-demo/stock";
    int connect_timeout_ms = 8'000;
    int lock_timeout_ms = 10'000;
    int rush_buyers = 15;
    int rush_units = 10;
};

demo::desk_settings desk_of(const settings& s, const std::optional<zklock::client>& client)
{
    demo::desk_settings desk{s.name, std::chrono::milliseconds(s.payment_ms), s.fenced, std::nullopt};
    if (client) {
        desk.lock = {*client, s.path, std::chrono::milliseconds(s.lock_timeout_ms), std::nullopt};
        if (s.session_per_order) {
            desk.lock->session_per_order.emplace().servers = s.servers;
            desk.lock->session_per_order->tls = s.tls;
            desk.lock->session_per_order->sasl = s.sasl;
        }
    }
    return desk;
}

demo::rush_settings rush_of(const settings& s, const std::optional<zklock::client>& client)
{
    // Whoever is served last has waited for all others' payments.
    auto patience = std::chrono::milliseconds(s.lock_timeout_ms + s.payment_ms) + std::chrono::seconds(10);
    return {s.rush_buyers, s.rush_units, std::chrono::ceil<std::chrono::seconds>(patience), client, s.path + "-rush"};
}

demo::board_settings board_of(const settings& s, const std::optional<zklock::client>& client)
{
    return {s.name, s.rush_buyers, s.rush_units, client, s.path, s.path + "-rush"};
}

/// Serves until SIGINT or SIGTERM; returns the exit status. After SIGTERM, orders that are under way are finished and
/// answered; after SIGINT, or a second signal, what waits for the lock ends at once.
asio::awaitable<int> run(const settings& s)
{
    auto executor = co_await asio::this_coro::executor;
    demo::database database(s.database);

    std::optional<zklock::client> client;
    std::optional<demo::order_routes> orders;
    std::optional<demo::http_server> server;
    bool stopped = false;
    asio::signal_set signals(executor, SIGINT, SIGTERM);
    auto here = std::make_shared<bool>(); // as long as this runs
    std::function<void(boost::system::error_code, int)> end;
    end = [&, here = std::weak_ptr(here)](boost::system::error_code error, int signal) {
        if (error || here.expired()) {
            return; // cancelled below
        }
        bool hurry = signal == SIGINT || stopped;
        if (server && !stopped) {
            server->stop();
        }
        if (orders && !stopped) {
            orders->stop();
        }
        stopped = true;
        if (orders && hurry) {
            orders->give_up();
        } else if (client && !orders) { // it may be waiting for the connection
            client->close([](boost::system::error_code) {});
        }
        signals.async_wait(end);
    };
    signals.async_wait(end);

    if (!s.no_lock) {
        zklock::client_options options;
        options.servers = s.servers;
        options.tls = s.tls;
        options.sasl = s.sasl;
        options.identifier = s.name; // in its log, which ZKLOCK_LOG turns on
        client.emplace(executor, options);
        auto connected = co_await client->wait_connected(std::chrono::milliseconds(s.connect_timeout_ms));
        if (!connected && !stopped) {
            std::string why = connected.error() == zklock::errc::not_connected
                                  ? fmt::format("no answer within {} ms", s.connect_timeout_ms)
                                  : connected.error().message();
            fmt::print(stderr, "order server {}: no ZooKeeper at {}: {}\n", s.name, s.servers, why);
            co_return 1;
        }
    }

    bool clean = true;
    if (!stopped) {
        // The page's coroutines begin last: nothing may throw once they refer to what is here.
        auto handle = [&orders](const demo::http_request& request) { return orders->handle(request); };
        asio::ip::tcp::endpoint address(asio::ip::make_address(s.listen), s.port);
        server.emplace(executor, address, s.hosts, handle);
        auto at = fmt::format("{}:{}", s.listen, server->address().port());
        database.open_server({s.name, at});
        orders.emplace(executor, database, desk_of(s, client), rush_of(s, client), board_of(s, client));
        fmt::print("order server {} listening on {}\n", s.name, at);
        std::fflush(stdout);
        co_await server->serve();
        server.reset();
        co_await orders->rush_ended();
    }
    signals.cancel();
    if (client) {
        auto closed = co_await client->close();
        if (!closed) {
            fmt::print(stderr, "order server {}: closing: {}\n", s.name, closed.error().message());
            clean = false;
        }
    }
    if (orders) {
        co_await orders->board_ended();
        database.close_server(s.name);
    }
    co_return clean ? 0 : 1;
}

} // namespace

int main(int argc, char** argv)
{
    settings s;
    CLI::App app("An order server: sells what a shared database has in stock, one order at a time among all servers.");
    app.footer("With ZKLOCK_LOG=info in the environment, it writes to stderr what its lock and its connection do.");
    app.add_option("--name", s.name, "of this server, in its answers")->capture_default_str();
    app.add_option("--database", s.database, "SQLite file with the tables of stock.sql")->required();
    app.add_option("--listen", s.listen, "on this address of the machine's; 0.0.0.0: on all, so that others can see it")
        ->check(CLI::ValidIPV4)
        ->capture_default_str();
    app.add_option("--port", s.port, "0 for any that is free")->capture_default_str();
    app.add_option("--host", s.hosts, "a name by which it may be asked, beside localhost and addresses; repeatable");
    app.add_option("--payment", s.payment_ms, "milliseconds from reading the stock to writing it")
        ->check(CLI::Range(0, 60'000))
        ->capture_default_str();
    auto* no_lock = app.add_flag("--no-lock", s.no_lock, "take orders without the lock, and oversell");
    app.add_flag("--session-per-order", s.session_per_order,
                 "take the lock for each order through a client, and in a session, of its own")
        ->excludes(no_lock);
    app.add_flag("--fenced", s.fenced, "have the stock refuse writes with an older token than that of its last write")
        ->excludes(no_lock);
    app.add_option("--servers", s.servers, "ZooKeeper's HOST:PORT[,HOST:PORT...]")->capture_default_str();
    demo::add_tls_arguments(app, s.tls);
    demo::add_sasl_arguments(app, s.sasl);
    app.add_option("--path", s.path, "the lock")->capture_default_str();
    app.add_option("--connect-timeout", s.connect_timeout_ms, "milliseconds that ZooKeeper may take to answer at first")
        ->check(CLI::Range(1, 3'600'000))
        ->capture_default_str();
    app.add_option("--lock-timeout", s.lock_timeout_ms, "milliseconds that an order waits for the lock")
        ->check(CLI::Range(0, 3'600'000))
        ->capture_default_str();
    app.add_option("--rush-buyers", s.rush_buyers, "how many buyers a rush has, that is started from the page")
        ->check(CLI::Range(1, 1'000))
        ->capture_default_str();
    app.add_option("--rush-stock", s.rush_units, "how many units it begins with")
        ->check(CLI::Range(1, 1'000))
        ->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }

    return demo::run_to_end(run(s), "order server " + s.name);
}

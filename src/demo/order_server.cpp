// One of the shop's order servers: HTTP on one thread, a database file shared with the other servers, and the lock.
//
//   POST /orders   {"buyer": "Ada"}   201 sold, 409 sold out, 503 the lock was not to be had (or was lost)
//   GET  /report                      what the database says
//   GET  /queue                       who queues for the lock, the holder first
//   GET  /health                      200 when orders can be taken
//   GET  /metrics                     what the lock's client counts, for Prometheus
#include "http_server.hpp"
#include "order_desk.hpp"
#include "run_to_end.hpp"
#include "tls_arguments.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>

#if defined(__GNUC__) && !defined(__clang__)
// A false alarm of gcc 12: see src/README.md.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using demo::http_request;
using demo::http_response;

struct settings {
    std::string name = "A";
    std::string database;
    std::uint16_t port = 0;
    int payment_ms = 20;
    bool no_lock = false;
    bool session_per_order = false;
    bool fenced = false;
    std::string servers = "127.0.0.1:2181";
    zklock::tls_options tls;
    std::string path = "/zklock-demo/stock";
    int connect_timeout_ms = 8'000;
    int lock_timeout_ms = 10'000;
};

http_response reply(unsigned status, json::value body)
{
    http_response r;
    r.status = status;
    r.body = json::serialize(body);
    return r;
}

http_response failure(unsigned status, std::string_view why)
{
    return reply(status, {{"error", why}});
}

/// The buyer's name in an order, if it is one.
std::optional<std::string> buyer_in(const std::string& body)
{
    boost::system::error_code error;
    json::value value = json::parse(body, error);
    const json::object* order = error ? nullptr : value.if_object();
    const json::value* buyer = order ? order->if_contains("buyer") : nullptr;
    const json::string* name = buyer ? buyer->if_string() : nullptr;
    auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (!name || name->empty() || name->size() > 100 || std::any_of(name->begin(), name->end(), control)) {
        return std::nullopt;
    }
    return std::string(name->data(), name->size());
}

json::value as_json(const demo::order_row& order)
{
    json::object o{{"buyer", order.buyer},
                   {"server", order.server},
                   {"stock_read", order.stock_read},
                   {"waited_ms", order.waited_ms}};
    if (order.id) {
        o["order"] = order.id;
    }
    if (order.token) {
        o["token"] = *order.token;
    }
    if (order.session) {
        o["session"] = *order.session;
    }
    return o;
}

class order_server {
public:
    order_server(const settings& s, demo::database& shared, std::optional<zklock::client> client)
        : name_(s.name), database_(shared), client_(client),
          desk_(shared, {s.name, std::chrono::milliseconds(s.payment_ms), s.fenced, lock_of(s, client)})
    {
    }

    /// What waits for the lock ends.
    void give_up()
    {
        if (client_) {
            client_->close([](boost::system::error_code) {});
        }
        desk_.give_up();
    }

    asio::awaitable<http_response> handle(const http_request& request)
    {
        struct route {
            std::string_view method, target;
            asio::awaitable<http_response> (order_server::*answer)(const http_request&);
        };
        static constexpr route routes[] = {{"POST", "/orders", &order_server::take_order},
                                           {"GET", "/report", &order_server::report},
                                           {"GET", "/queue", &order_server::queue},
                                           {"GET", "/health", &order_server::health},
                                           {"GET", "/metrics", &order_server::metrics}};
        bool known = false;
        for (const route& r : routes) {
            if (request.target == r.target) {
                known = true;
                if (request.method == r.method) {
                    co_return co_await (this->*r.answer)(request);
                }
            }
        }
        co_return known ? failure(405, "wrong method") : failure(404, "there is nothing here");
    }

private:
    static std::optional<demo::lock_settings> lock_of(const settings& s, const std::optional<zklock::client>& client)
    {
        if (!client) {
            return std::nullopt;
        }
        demo::lock_settings lock{*client, s.path, std::chrono::milliseconds(s.lock_timeout_ms), std::nullopt};
        if (s.session_per_order) {
            lock.session_per_order.emplace().servers = s.servers;
            lock.session_per_order->tls = s.tls;
        }
        return lock;
    }

    asio::awaitable<http_response> take_order(const http_request& request)
    {
        auto buyer = buyer_in(request.body);
        if (!buyer) {
            co_return failure(400, R"(an order is {"buyer": "NAME"}, of up to 100 printable characters)");
        }
        auto placed = co_await desk_.order(*buyer);
        if (!placed) {
            co_return failure(503, "no lock: " + placed.error().message());
        }

        using outcome = demo::receipt::outcome;
        const demo::receipt& receipt = placed.value();
        json::value body = as_json(receipt.order);
        json::object& o = body.as_object();
        o["held_ms"] = receipt.held_ms;
        switch (receipt.what) {
        case outcome::sold:
            o["outcome"] = "sold";
            o["stock_written"] = receipt.stock_written;
            co_return reply(201, std::move(body));
        case outcome::sold_out:
            o["outcome"] = "sold out";
            co_return reply(409, std::move(body));
        case outcome::stale_token:
            break;
        }
        o["outcome"] = "refused: a later token has written";
        co_return reply(503, std::move(body));
    }

    asio::awaitable<http_response> report(const http_request&)
    {
        json::array orders;
        for (const demo::order_row& order : database_.orders()) {
            orders.push_back(as_json(order));
        }
        auto sold = orders.size();
        co_return reply(200, {{"units", database_.units()},
                              {"last_token", database_.last_token()},
                              {"stale_writes", database_.stale_writes()},
                              {"sold", sold},
                              {"orders", std::move(orders)}});
    }

    asio::awaitable<http_response> queue(const http_request&)
    {
        auto contenders = co_await desk_.queue();
        if (!contenders) {
            co_return failure(503, contenders.error().message());
        }
        json::array queue;
        for (const zklock::contender& c : contenders.value()) {
            queue.push_back({{"buyer", c.identifier},
                             {"node", c.node},
                             {"sequence", c.sequence},
                             {"session", c.session_id},
                             {"ours", c.ours}});
        }
        co_return reply(200, {{"queue", std::move(queue)}});
    }

    asio::awaitable<http_response> health(const http_request&)
    {
        json::object o{{"server", name_}, {"lock", client_.has_value()}};
        unsigned status = 200;
        if (client_) {
            auto state = client_->state();
            o["connection"] = zklock::to_string(state);
            status = state == zklock::connection_state::connected ? 200 : 503;
        }
        co_return reply(status, std::move(o));
    }

    asio::awaitable<http_response> metrics(const http_request&)
    {
        if (!client_) {
            co_return failure(404, "there is no lock");
        }
        http_response page;
        page.body = zklock::prometheus_text(client_->metrics());
        page.type = "text/plain; version=0.0.4; charset=utf-8";
        co_return page;
    }

    std::string name_;
    demo::database& database_;
    std::optional<zklock::client> client_;
    demo::order_desk desk_;
};

/// Serves until SIGINT or SIGTERM; returns the exit status.
asio::awaitable<int> run(const settings& s)
{
    auto executor = co_await asio::this_coro::executor;
    demo::database database(s.database);

    std::optional<zklock::client> client;
    std::optional<order_server> orders;
    std::optional<demo::http_server> server;
    bool stopped = false;
    asio::signal_set signals(executor, SIGINT, SIGTERM);
    signals.async_wait([&](boost::system::error_code error, int signal) {
        if (error) {
            return; // cancelled below
        }
        stopped = true;
        if (server) {
            server->stop();
        }
        if (orders && signal == SIGINT) { // in a hurry
            orders->give_up();
        } else if (client && !orders) { // it may be waiting for the connection
            client->close([](boost::system::error_code) {});
        }
    });

    if (!s.no_lock) {
        zklock::client_options options;
        options.servers = s.servers;
        options.tls = s.tls;
        options.identifier = s.name; // in its log, which ZKLOCK_LOG turns on
        client.emplace(executor, options);
        auto connected = co_await client->wait_connected(std::chrono::milliseconds(s.connect_timeout_ms));
        if (!connected && !stopped) {
            std::string why = connected.error() == zklock::errc::timed_out
                                  ? fmt::format("no answer within {} ms", s.connect_timeout_ms)
                                  : connected.error().message();
            fmt::print(stderr, "order server {}: no ZooKeeper at {}: {}\n", s.name, s.servers, why);
            co_return 1;
        }
    }

    bool clean = true;
    if (!stopped) {
        orders.emplace(s, database, client);
        auto handle = [&orders](const http_request& request) { return orders->handle(request); };
        asio::ip::tcp::endpoint address(asio::ip::address_v4::loopback(), s.port);
        server.emplace(executor, address, handle);
        fmt::print("order server {} listening on 127.0.0.1:{}\n", s.name, server->address().port());
        std::fflush(stdout);
        co_await server->serve();
        server.reset();
    }
    signals.cancel();
    if (client) {
        auto closed = co_await client->close();
        if (!closed) {
            fmt::print(stderr, "order server {}: closing: {}\n", s.name, closed.error().message());
            clean = false;
        }
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
    app.add_option("--port", s.port, "on 127.0.0.1; 0 for any that is free")->capture_default_str();
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
    app.add_option("--path", s.path, "the lock")->capture_default_str();
    app.add_option("--connect-timeout", s.connect_timeout_ms, "milliseconds that ZooKeeper may take to answer at first")
        ->check(CLI::Range(1, 3'600'000))
        ->capture_default_str();
    app.add_option("--lock-timeout", s.lock_timeout_ms, "milliseconds that an order waits for the lock")
        ->check(CLI::Range(0, 3'600'000))
        ->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }

    return demo::run_to_end(run(s), "order server " + s.name);
}

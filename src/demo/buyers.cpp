// The buyers of the demonstration: all order one unit at the same moment, spread over the order servers, on one thread.
// Prints what became of each, in the order in which they had the lock.
#include "sale_report.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
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

std::string name_of(int buyer)
{
    static constexpr std::array names{"Ada",  "Ben",  "Cleo", "Dan",  "Eva",  "Finn", "Gia",  "Hugo", "Ivy",
                                      "Jon",  "Kim",  "Leo",  "Mia",  "Ned",  "Olga", "Paul", "Quin", "Rosa",
                                      "Sam",  "Tess", "Uma",  "Vic",  "Wim",  "Xena", "Yan",  "Zoe"};
    int round = buyer / static_cast<int>(names.size());
    std::string name = names[static_cast<std::size_t>(buyer) % names.size()];
    return round == 0 ? name : fmt::format("{}-{}", name, round + 1);
}

/// ADDRESS:PORT, as the order servers print it.
tcp::endpoint endpoint_of(const std::string& text)
{
    auto colon = text.rfind(':');
    std::uint16_t port = 0;
    const char* end = text.data() + text.size();
    boost::system::error_code bad_address;
    auto address = asio::ip::make_address(text.substr(0, colon), bad_address);
    if (colon == std::string::npos || bad_address ||
        std::from_chars(text.data() + colon + 1, end, port).ptr != end || port == 0) {
        throw std::invalid_argument("not ADDRESS:PORT: " + text);
    }
    return {address, port};
}

/// Lets everybody go when the last one has arrived.
class starting_gate {
public:
    starting_gate(asio::any_io_executor executor, int expected)
        : opened_(executor, clock::time_point::max()), missing_(expected)
    {
    }

    asio::awaitable<void> arrive()
    {
        if (--missing_ == 0) {
            opened_.cancel();
        } else {
            co_await opened_.async_wait(asio::as_tuple(asio::use_awaitable));
        }
    }

private:
    asio::steady_timer opened_;
    int missing_;
};

/// One keep-alive connection to a server. Errors are thrown.
class http_connection {
public:
    http_connection(asio::any_io_executor executor, std::chrono::seconds limit) : stream_(executor), limit_(limit) {}

    asio::awaitable<void> connect(const tcp::endpoint& server)
    {
        stream_.expires_after(limit_);
        co_await stream_.async_connect(server, asio::use_awaitable);
    }

    struct answer {
        unsigned status = 0;
        json::value body;
    };

    asio::awaitable<answer> call(http::verb method, std::string_view target, const json::value& body)
    {
        http::request<http::string_body> request(method, target, 11);
        request.set(http::field::host, "order-server");
        if (method == http::verb::post) {
            request.set(http::field::content_type, "application/json");
            request.body() = json::serialize(body);
        }
        request.prepare_payload();
        stream_.expires_after(limit_);
        co_await http::async_write(stream_, request, asio::use_awaitable);
        http::response<http::string_body> response;
        co_await http::async_read(stream_, buffer_, response, asio::use_awaitable);
        answer a;
        a.status = response.result_int();
        a.body = json::parse(response.body());
        co_return a;
    }

private:
    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    std::chrono::seconds limit_;
};

template <class T> T member(const json::value& body, std::string_view name, T otherwise)
{
    const json::value* v = body.as_object().if_contains(name);
    return v ? json::value_to<T>(*v) : otherwise;
}

/// The whole sale: what the coroutines below share.
struct sale {
    starting_gate gate;
    std::vector<demo::purchase> purchases;
    std::vector<demo::queue_view> queue_views;
    clock::time_point opened{};
    int shopping = 0; ///< buyers without an answer
};

asio::awaitable<void> buy(sale& s, int buyer, tcp::endpoint server, std::chrono::seconds patience)
{
    demo::purchase& p = s.purchases[static_cast<std::size_t>(buyer)];
    p.buyer = name_of(buyer);
    bool arrived = false;
    auto executor = co_await asio::this_coro::executor;
    try {
        http_connection connection(executor, patience);
        co_await connection.connect(server);
        arrived = true;
        co_await s.gate.arrive();
        json::value order{{"buyer", p.buyer}};
        auto [status, body] = co_await connection.call(http::verb::post, "/orders", order);
        p.sold = status == 201;
        p.answered = p.sold || status == 409;
        p.outcome = member<std::string>(body, "outcome", member<std::string>(body, "error", "no reason given"));
        p.server = member<std::string>(body, "server", "");
        p.order = member<std::int64_t>(body, "order", 0);
        p.token = member<std::int64_t>(body, "token", 0);
        p.session = member<std::int64_t>(body, "session", 0);
        p.stock_read = member<int>(body, "stock_read", 0);
        p.stock_written = member<int>(body, "stock_written", 0);
        p.waited_ms = member<double>(body, "waited_ms", 0);
        p.held_ms = member<double>(body, "held_ms", 0);
    } catch (const std::exception& e) {
        p.outcome = e.what();
    }
    if (!arrived) {
        co_await s.gate.arrive(); // nobody waits for those who do not come
    }
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
        auto [status, body] = co_await connection.call(http::verb::get, "/queue", nullptr);
        if (status != 200) {
            throw std::runtime_error("GET /queue: " + json::serialize(body));
        }
        demo::queue_view view;
        view.at_ms = std::chrono::duration<double, std::milli>(clock::now() - s.opened).count();
        std::set<std::int64_t> sessions;
        for (const json::value& contender : body.at("queue").as_array()) {
            view.buyers.push_back(member<std::string>(contender, "buyer", "?"));
            sessions.insert(member<std::int64_t>(contender, "session", 0));
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
            servers.push_back(endpoint_of(text));
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
        asio::co_spawn(io, buy(the_sale, buyer, server, patience), [](std::exception_ptr error) {
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

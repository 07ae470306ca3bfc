#include "shopping.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <exception>
#include <stdexcept>
#include <utility>

namespace demo {

namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;
using asio::ip::tcp;

namespace {

template <class T> T member(const json::value& body, std::string_view name, T otherwise)
{
    const json::value* v = body.as_object().if_contains(name);
    return v ? json::value_to<T>(*v) : otherwise;
}

} // namespace

std::string name_of(int buyer)
{
    static constexpr std::array names{"Ada", "Ben",  "Cleo", "Dan", "Eva", "Finn", "Gia",  "Hugo", "Ivy",
                                      "Jon", "Kim",  "Leo",  "Mia", "Ned", "Olga", "Paul", "Quin", "Rosa",
                                      "Sam", "Tess", "Uma",  "Vic", "Wim", "Xena", "Yan",  "Zoe"};
    int round = buyer / static_cast<int>(names.size());
    std::string name = names[static_cast<std::size_t>(buyer) % names.size()];
    return round == 0 ? name : fmt::format("{}-{}", name, round + 1);
}

tcp::endpoint endpoint_of(const std::string& text)
{
    auto colon = text.rfind(':');
    std::uint16_t port = 0;
    const char* end = text.data() + text.size();
    boost::system::error_code bad_address;
    auto address = asio::ip::make_address(text.substr(0, colon), bad_address);
    if (colon == std::string::npos || bad_address || std::from_chars(text.data() + colon + 1, end, port).ptr != end ||
        port == 0) {
        throw std::invalid_argument("not ADDRESS:PORT: " + text);
    }
    return {address, port};
}

starting_gate::starting_gate(asio::any_io_executor executor, int expected)
    : opened_(std::move(executor), asio::steady_timer::time_point::max()), missing_(expected)
{
}

asio::awaitable<void> starting_gate::arrive()
{
    if (--missing_ == 0) {
        opened_.cancel();
    } else {
        co_await opened_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

asio::awaitable<void> http_connection::connect(const tcp::endpoint& server)
{
    stream_.expires_after(limit_);
    co_await stream_.async_connect(server, asio::use_awaitable);
    host_ = fmt::format("{}:{}", server.address().to_string(), server.port());
}

asio::awaitable<http_connection::answer> http_connection::get(std::string_view target)
{
    request asked(http::verb::get, target, 11);
    co_return co_await call(asked);
}

asio::awaitable<http_connection::answer> http_connection::post(std::string_view target, const json::value& body)
{
    request asked(http::verb::post, target, 11);
    asked.set(http::field::content_type, "application/json");
    asked.body() = json::serialize(body);
    co_return co_await call(asked);
}

asio::awaitable<http_connection::answer> http_connection::call(request& asked)
{
    if (closed_) { // between two steps
        throw boost::system::system_error(asio::error::operation_aborted);
    }
    asked.set(http::field::host, host_);
    asked.prepare_payload();
    stream_.expires_after(limit_);
    co_await http::async_write(stream_, asked, asio::use_awaitable);
    http::response<http::string_body> response;
    co_await http::async_read(stream_, buffer_, response, asio::use_awaitable);
    answer a;
    a.status = response.result_int();
    a.body = json::parse(response.body());
    co_return a;
}

void http_connection::close()
{
    closed_ = true;
    stream_.close();
}

asio::awaitable<void> buy(starting_gate& gate, http_connection& connection, tcp::endpoint server, json::object order,
                          purchase& made)
{
    bool arrived = false;
    try {
        co_await connection.connect(server);
        arrived = true;
        co_await gate.arrive();
        order["buyer"] = made.buyer;
        json::value sent(std::move(order));
        auto [status, body] = co_await connection.post("/orders", sent);
        made.sold = status == 201;
        made.answered = made.sold || status == 409;
        made.outcome = member<std::string>(body, "outcome", member<std::string>(body, "error", "no reason given"));
        made.server = member<std::string>(body, "server", "");
        made.order = member<std::int64_t>(body, "order", 0);
        made.token = member<std::int64_t>(body, "token", 0);
        made.session = member<std::int64_t>(body, "session", 0);
        made.stock_read = member<int>(body, "stock_read", 0);
        made.stock_written = member<int>(body, "stock_written", 0);
        made.waited_ms = member<double>(body, "waited_ms", 0);
        made.held_ms = member<double>(body, "held_ms", 0);
    } catch (const std::exception& e) {
        made.outcome = e.what();
    }
    if (!arrived) {
        co_await gate.arrive(); // nobody waits for those who do not come
    }
}

} // namespace demo

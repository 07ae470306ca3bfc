#pragma once
#include "sale_report.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace demo {

namespace asio = boost::asio;

/// A name for each buyer: Ada, Ben, ... Zoe, Ada-2, ...
std::string name_of(int buyer);

/// ADDRESS:PORT, as the order servers print it. @throws std::invalid_argument
asio::ip::tcp::endpoint endpoint_of(const std::string& text);

/// Lets everybody go when the last one has arrived.
class starting_gate {
public:
    starting_gate(asio::any_io_executor executor, int expected);

    asio::awaitable<void> arrive();

private:
    asio::steady_timer opened_;
    int missing_;
};

/// One keep-alive connection to a server. Errors are thrown.
class http_connection {
public:
    /// The limit is that of each step: of the connect, and of each call.
    http_connection(asio::any_io_executor executor, std::chrono::seconds limit) : stream_(executor), limit_(limit) {}

    asio::awaitable<void> connect(const asio::ip::tcp::endpoint& server);

    struct answer {
        unsigned status = 0;
        boost::json::value body;
    };

    asio::awaitable<answer> get(std::string_view target);
    asio::awaitable<answer> post(std::string_view target, const boost::json::value& body);

    /// What is under way fails, and all that comes later.
    void close();

private:
    using request = boost::beast::http::request<boost::beast::http::string_body>;

    asio::awaitable<answer> call(request&);

    boost::beast::tcp_stream stream_;
    boost::beast::flat_buffer buffer_;
    std::chrono::seconds limit_;
    std::string host_;
    bool closed_ = false;
};

/// Goes to the server, waits at the gate, and orders one unit. All that becomes of it is in `made`, failures too; its
/// buyer has to be there. `order`: what the order says beside the buyer's name.
asio::awaitable<void> buy(starting_gate& gate, http_connection& connection, asio::ip::tcp::endpoint server,
                          boost::json::object order, purchase& made);

} // namespace demo

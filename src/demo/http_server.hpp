#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <string>
#include <unordered_set>

namespace demo {

namespace asio = boost::asio;

struct http_request {
    std::string method;
    std::string target;
    std::string body;
};

struct http_response {
    unsigned status = 200;
    std::string body;
    std::string type = "application/json";
};

/// Answers one request. What it throws is answered with 500.
using http_handler = std::function<asio::awaitable<http_response>(const http_request&)>;

/// A small HTTP/1.1 server for one thread: keep-alive, limits on time and size, and an end in good order.
class http_server {
public:
    /// Listens at once; throws boost::system::system_error when it cannot.
    http_server(asio::any_io_executor executor, const asio::ip::tcp::endpoint& address, http_handler handler);

    [[nodiscard]] asio::ip::tcp::endpoint address() const { return acceptor_.local_endpoint(); }

    /// Serves until stop(), and until every request that was received by then has been answered.
    asio::awaitable<void> serve();
    void stop();

private:
    struct connection;

    asio::awaitable<void> converse(asio::ip::tcp::socket socket);
    asio::awaitable<http_response> answer(const http_request& request);

    asio::ip::tcp::acceptor acceptor_;
    http_handler handler_;
    std::unordered_set<connection*> connections_;
    asio::steady_timer drained_; ///< cancelled when the last connection is gone
    bool stopping_ = false;
};

} // namespace demo

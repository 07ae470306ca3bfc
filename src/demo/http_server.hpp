#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace demo {

namespace asio = boost::asio;

struct http_request {
    std::string method; ///< GET for HEAD, too, whose answer is sent without its body
    std::string target;
    std::string host; ///< by which the client asks for the server, with the port if it names one
    std::string type; ///< of the body, as the client names it
    std::string body;
};

/// What a client is sent as it comes, as server-sent events.
class event_stream {
public:
    virtual ~event_stream() = default;

    /// Waits for the next event and returns its text, as it is to be sent. It is not asked for another before that is
    /// sent: whatever happens meanwhile can be left out. When it is cancelled, what it returns does not count. Does not
    /// throw, but for lack of memory.
    virtual asio::awaitable<std::string> next() = 0;
};

struct http_response {
    unsigned status = 200;
    std::string body;
    std::string type = "application/json";
    std::unique_ptr<event_stream> events; ///< in place of a body: until the client hangs up, or the server stops
};

/// An answer that says what is wrong: {"error": why}.
http_response failure(unsigned status, std::string_view why);

/// Answers one request. What it throws is answered with 500.
using http_handler = std::function<asio::awaitable<http_response>(const http_request&)>;

/// A small HTTP/1.1 server for one thread: keep-alive, limits on time and size, and an end in good order. A client that
/// takes a stream's events too slowly gets fewer; one that takes none for 30 s is hung up on.
class http_server {
public:
    /// Listens at once; throws boost::system::system_error when it cannot. Whoever asks by a name other than localhost
    /// and `names` is refused; every address is let in.
    http_server(asio::any_io_executor executor, const asio::ip::tcp::endpoint& address, std::vector<std::string> names,
                http_handler handler);

    [[nodiscard]] asio::ip::tcp::endpoint address() const { return acceptor_.local_endpoint(); }

    /// Serves until stop(), and until every request that was received by then has been answered.
    asio::awaitable<void> serve();
    void stop();

private:
    struct connection;

    asio::awaitable<void> converse(asio::ip::tcp::socket socket);
    [[nodiscard]] bool goes_by(std::string_view host) const;
    asio::awaitable<http_response> answer(const http_request& request);
    asio::awaitable<void> send_events(connection&, event_stream&, bool head_only);
    asio::awaitable<void> hung_up(connection&);

    asio::ip::tcp::acceptor acceptor_;
    std::vector<std::string> names_;
    http_handler handler_;
    std::unordered_set<connection*> connections_;
    asio::steady_timer drained_; ///< cancelled when the last connection is gone
    bool stopping_ = false;
};

} // namespace demo

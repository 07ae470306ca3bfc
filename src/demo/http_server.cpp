#include "http_server.hpp"

#include "background.hpp"
#include "json_text.hpp"

#include <boost/algorithm/string/predicate.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

namespace demo {

namespace beast = boost::beast;
namespace http = beast::http;

namespace {

constexpr auto io_limit = std::chrono::seconds(30);
constexpr auto farewell_limit = std::chrono::seconds(1);
constexpr auto event_limit = std::chrono::seconds(30);
constexpr int events_on_the_way = 16 * 1024; ///< bytes that the system takes for a client that does not read them
constexpr std::uint64_t body_limit = 16 * 1024;

/// What to tell a client whose request could not be read. Nothing, if it just went away.
std::optional<http_response> answer_to(const boost::system::error_code& error)
{
    if (error == http::error::body_limit) {
        return failure(413, "the body is too long");
    }
    if (error == http::error::header_limit) {
        return failure(431, "the header is too long");
    }
    // An end between two requests is how a connection normally ends; any other error of the parser is the client's.
    bool parser = error.category() == make_error_code(http::error::end_of_stream).category();
    if (parser && error != http::error::end_of_stream) {
        return failure(400, "not an HTTP request");
    }
    return std::nullopt;
}

std::string_view without_port(std::string_view host)
{
    auto colon = host.find_last_not_of("0123456789");
    return colon != std::string_view::npos && host[colon] == ':' ? host.substr(0, colon) : host;
}

/// Whether the Host of a request is an address.
bool is_address(std::string_view host)
{
    boost::system::error_code bad;
    if (host.starts_with('[') && host.ends_with(']')) {
        asio::ip::make_address_v6(std::string(host.substr(1, host.size() - 2)), bad);
    } else {
        asio::ip::make_address_v4(std::string(host), bad);
    }
    return !bad;
}

/// Whoever asks by the whole address has named the host there, and not in Host (RFC 9112, 3.2.2).
void take_apart_address(http_request& request)
{
    constexpr std::string_view scheme = "http://";
    if (!boost::istarts_with(request.target, scheme)) {
        return;
    }
    const std::string address = request.target.substr(scheme.size());
    const auto end = std::min(address.find_first_of("/?"), address.size());
    request.host = address.substr(0, end);
    request.target = address.substr(end);
    if (!request.target.starts_with('/')) {
        request.target.insert(0, "/");
    }
}

/// Reads a request. Whoever waits to be told that its body will be read is told so, unless the header says that it will
/// not. (HTTP/1.0 knows of no such word.)
asio::awaitable<boost::system::error_code> receive(beast::tcp_stream& stream, beast::flat_buffer& buffer,
                                                   http::request_parser<http::string_body>& parser)
{
    auto [error, in_header] = co_await http::async_read_header(stream, buffer, parser, awaitable_tuple);
    boost::ignore_unused(in_header);
    if (!error && !parser.is_done() && parser.get().version() >= 11 &&
        boost::iequals(parser.get()[http::field::expect], "100-continue")) {
        http::response<http::empty_body> go_on(http::status::continue_, 11);
        auto [write_error, sent] = co_await http::async_write(stream, go_on, awaitable_tuple);
        boost::ignore_unused(sent);
        error = write_error;
    }
    if (!error) {
        auto [read_error, in_body] = co_await http::async_read(stream, buffer, parser, awaitable_tuple);
        boost::ignore_unused(in_body);
        error = read_error;
    }
    co_return error;
}

} // namespace

http_response failure(unsigned status, std::string_view why)
{
    http_response response;
    response.status = status;
    response.body = json_text({{"error", why}});
    return response;
}

struct http_server::connection {
    explicit connection(asio::ip::tcp::socket socket) : stream(std::move(socket)) {}

    beast::tcp_stream stream;
    bool waiting = false; ///< for the next request, or with events: may be cut off when the server stops
};

http_server::http_server(asio::any_io_executor executor, const asio::ip::tcp::endpoint& address,
                         std::vector<std::string> names, http_handler handler)
    : acceptor_(executor, address), names_(std::move(names)), handler_(std::move(handler)),
      drained_(executor, asio::steady_timer::time_point::max())
{
}

asio::awaitable<void> http_server::serve()
{
    auto executor = acceptor_.get_executor();
    asio::steady_timer pause(executor);
    while (!stopping_) {
        auto [error, socket] = co_await acceptor_.async_accept(awaitable_tuple);
        if (!error) {
            asio::co_spawn(executor, converse(std::move(socket)), asio::detached);
        } else if (!stopping_) {
            // Out of descriptors, most likely: some come back as connections end.
            pause.expires_after(std::chrono::milliseconds(50));
            auto [interrupted] = co_await pause.async_wait(awaitable_tuple);
            boost::ignore_unused(interrupted);
        }
    }
    while (!connections_.empty()) {
        auto [cancelled] = co_await drained_.async_wait(awaitable_tuple);
        boost::ignore_unused(cancelled);
    }
}

void http_server::stop()
{
    stopping_ = true;
    boost::system::error_code ignored; // closing cannot fail in a way that matters here
    acceptor_.close(ignored);
    for (connection* c : connections_) {
        if (c->waiting) {
            c->stream.cancel();
        }
    }
}

asio::awaitable<void> http_server::converse(asio::ip::tcp::socket socket)
{
    connection self(std::move(socket));
    struct registration {
        http_server& server;
        connection* c;
        ~registration()
        {
            server.connections_.erase(c);
            if (server.connections_.empty()) {
                server.drained_.cancel();
            }
        }
    } registered{*this, &self};
    connections_.insert(&self);

    beast::flat_buffer buffer;
    bool keep_alive = true;
    while (keep_alive && !stopping_) {
        http::request_parser<http::string_body> parser;
        parser.body_limit(body_limit);
        self.stream.expires_after(io_limit);
        self.waiting = true;
        auto error = co_await receive(self.stream, buffer, parser);
        self.waiting = false;

        const auto& message = parser.get();
        bool head = message.method() == http::verb::head; // the answer to GET, but for its body
        http_response answered;
        if (error) {
            auto told = answer_to(error);
            if (!told) {
                break;
            }
            answered = std::move(*told);
            keep_alive = false;
        } else {
            http_request request;
            request.method = head ? "GET" : message.method_string();
            request.host = message[http::field::host];
            request.target = message.target();
            request.type = message[http::field::content_type];
            request.body = message.body();
            take_apart_address(request);
            answered = co_await answer(request);
            keep_alive = message.keep_alive() && !stopping_;
        }

        if (answered.events) {
            co_await send_events(self, *answered.events, head);
            break;
        }
        http::response<http::string_body> response(static_cast<http::status>(answered.status), 11);
        response.set(http::field::content_type, answered.type);
        response.body() = std::move(answered.body);
        response.keep_alive(keep_alive);
        response.prepare_payload();
        if (head) {
            response.body().clear(); // the header has its length
        }
        self.stream.expires_after(io_limit);
        auto [write_error, sent] = co_await http::async_write(self.stream, response, awaitable_tuple);
        boost::ignore_unused(sent);
        if (write_error) {
            break; // the client is gone
        }
    }

    // Says that this was all, and takes what the client may still be sending: a close with bytes unread could cost it
    // the answer.
    boost::system::error_code ignored; // it may be gone already
    self.stream.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    self.stream.expires_after(farewell_limit);
    self.waiting = true;
    for (bool open = true; open && !stopping_;) {
        buffer.clear();
        auto [error, received] = co_await self.stream.async_read_some(buffer.prepare(4096), awaitable_tuple);
        open = !error && received > 0;
    }
}

/// The connection ends with the stream: that is how the client knows the end of it.
asio::awaitable<void> http_server::send_events(connection& self, event_stream& events, bool head_only)
{
    using namespace asio::experimental::awaitable_operators;

    self.waiting = true;
    boost::system::error_code ignored; // a larger buffer only means that a slow client sees older events
    self.stream.socket().set_option(asio::socket_base::send_buffer_size(events_on_the_way), ignored);
    http::response<http::empty_body> response(http::status::ok, 11);
    response.set(http::field::content_type, "text/event-stream");
    response.set(http::field::cache_control, "no-store");
    response.keep_alive(false);
    http::response_serializer<http::empty_body> serializer(response);
    self.stream.expires_after(event_limit);
    auto [error, sent] = co_await http::async_write_header(self.stream, serializer, awaitable_tuple);
    boost::ignore_unused(sent);

    for (bool open = !error && !head_only; open;) {
        auto first = co_await (events.next() || hung_up(self));
        if (first.index() == 1 || stopping_) {
            break;
        }
        const std::string& event = std::get<0>(first);
        self.stream.expires_after(event_limit);
        auto [failed, bytes] = co_await asio::async_write(self.stream, asio::buffer(event), awaitable_tuple);
        boost::ignore_unused(bytes);
        open = !failed && !stopping_;
    }
}

/// What a client sends that gets events is of no interest, only that it is still there.
asio::awaitable<void> http_server::hung_up(connection& self)
{
    std::array<char, 256> unread;
    for (bool open = true; open && !stopping_;) {
        auto [error, received] = co_await self.stream.socket().async_read_some(asio::buffer(unread), awaitable_tuple);
        open = !error && received > 0;
    }
}

/// A page of somebody else's can be made to ask here by its own name, which then leads to this server's address; and
/// the browser takes the answers for that page's. Nobody looks up an address, or localhost.
bool http_server::goes_by(std::string_view host) const
{
    std::string_view name = without_port(host);
    auto is = [&](std::string_view own) { return boost::iequals(name, own); };
    return is_address(name) || is("localhost") || std::any_of(names_.begin(), names_.end(), is);
}

asio::awaitable<http_response> http_server::answer(const http_request& request)
{
    if (!goes_by(request.host)) {
        co_return failure(421, "the request's Host is no address, nor localhost, nor one that --host lets in");
    }
    std::string why;
    try {
        co_return co_await handler_(request);
    } catch (const std::exception& e) {
        why = e.what();
    }
    co_return failure(500, why);
}

} // namespace demo

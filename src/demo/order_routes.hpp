#pragma once
#include "board.hpp"
#include "database.hpp"
#include "http_server.hpp"
#include "order_desk.hpp"
#include "rush.hpp"

#include <zklock/client.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>

namespace demo {

namespace asio = boost::asio;

/// What an order server answers to which request; order_server.cpp lists them.
class order_routes {
public:
    /// All have one client, or none.
    order_routes(asio::any_io_executor, database&, desk_settings, rush_settings, board_settings);

    asio::awaitable<http_response> handle(const http_request&);

    /// A rush that is under way is broken off; so is what serves the pages, as soon as the client is closed.
    void stop();
    /// What waits for the lock ends.
    void give_up();
    /// After stop(), and before the client is closed.
    asio::awaitable<void> rush_ended() { return rushes_.ended(); }
    /// After stop(), and after the client was closed: then nothing of this runs any more.
    asio::awaitable<void> board_ended() { return board_.ended(); }

private:
    asio::awaitable<http_response> page(const http_request&);
    asio::awaitable<http_response> events(const http_request&);
    asio::awaitable<http_response> start_rush(const http_request&);
    asio::awaitable<http_response> take_order(const http_request&);
    asio::awaitable<http_response> report(const http_request&);
    asio::awaitable<http_response> queue(const http_request&);
    asio::awaitable<http_response> health(const http_request&);
    asio::awaitable<http_response> metrics(const http_request&);

    std::string name_;
    database& database_;
    std::optional<zklock::client> client_;
    order_desk desk_;
    rush_desk rushes_;
    board board_;
};

} // namespace demo

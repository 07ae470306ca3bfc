// SPDX-License-Identifier: Apache-2.0
// An HTTP server of Boost.Beast whose handlers co_await a lock: POST /orders sells one unit of a stock that several
// such servers share. The stock is a node in ZooKeeper, which starts with ten units. A client that hangs up while it
// waits leaves the queue; one that hangs up later has bought.
//
//     http_server SERVERS PORT
#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/outcome/try.hpp>
#include <zklock/zklock.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <variant>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;
constexpr auto no_throw = asio::as_tuple(asio::use_awaitable);
const std::string stock = "/examples-shop";

// One unit less, if there is one; done only if the lock is still held when the servers execute it.
asio::awaitable<zklock::result<bool>> sell(zklock::client zk, zklock::guard& held)
{
    BOOST_OUTCOME_CO_TRY(const auto read, co_await zk.get(stock)); // what is read; an error is returned
    const int units = std::stoi(read.data);
    if (units == 0)
        co_return false;
    zklock::transaction sale;
    sale.set(stock, std::to_string(units - 1));
    BOOST_OUTCOME_CO_TRYV(co_await held.commit(sale));
    co_return true;
}

// Ends when the client has hung up; one that sends no more counts as gone, too. If its next request is here already,
// nothing is known of the client until that is read, and only a broken connection is noticed.
asio::awaitable<void> peer_gone(asio::ip::tcp::socket& socket)
{
    const auto [failed] = co_await socket.async_wait(asio::socket_base::wait_read, no_throw);
    char next = 0;
    beast::error_code end;
    if (!failed && socket.receive(asio::buffer(&next, 1), asio::socket_base::message_peek, end) != 0)
        static_cast<void>(co_await socket.async_wait(asio::socket_base::wait_error, no_throw));
}

asio::awaitable<zklock::result<bool>> order(zklock::client zk, asio::ip::tcp::socket& socket)
{
    zklock::mutex lock(zk, "/examples/http_server");
    // The handler suspends; the thread serves others meanwhile. A client that goes leaves the queue.
    auto waited = co_await (lock.acquire(5s) || peer_gone(socket));
    auto* const acquired = std::get_if<0>(&waited);
    if (!acquired)
        co_return zklock::error_code(asio::error::operation_aborted);
    BOOST_OUTCOME_CO_TRY(auto held, std::move(*acquired));
    // Now the order is carried out even if the client goes, but not once the lock is lost. After a stall (a paused
    // machine, say) both may have ended, and what is told first counts. Nothing is sold twice: see sell().
    auto worked = co_await (sell(zk, held) || held.wait_lost());
    if (auto* const sold = std::get_if<0>(&worked))
        co_return std::move(*sold);
    co_return zklock::errc::lost;
}

asio::awaitable<http::response<http::string_body>> answer(zklock::client zk, asio::ip::tcp::socket& socket,
                                                          http::request<http::string_body> request)
{
    http::response<http::string_body> response(http::status::not_found, request.version());
    if (request.method() == http::verb::post && request.target() == "/orders") {
        const zklock::result<bool> sold = co_await order(std::move(zk), socket);
        response.result(!sold          ? http::status::service_unavailable
                        : sold.value() ? http::status::created
                                       : http::status::conflict);
        response.body() = (!sold ? sold.error().message() : sold.value() ? "sold" : "sold out") + "\n";
    }
    response.keep_alive(request.keep_alive());
    response.prepare_payload();
    co_return response;
}

asio::awaitable<void> converse(zklock::client zk, asio::ip::tcp::socket socket)
{
    beast::tcp_stream stream(std::move(socket));
    beast::flat_buffer buffer;
    for (bool keep_alive = true; keep_alive;) {
        http::request<http::string_body> request;
        stream.expires_after(30s);
        const auto [unread, size] = co_await http::async_read(stream, buffer, request, no_throw);
        if (unread)
            break;              // it has hung up, or this is no HTTP
        stream.expires_never(); // the lock has its own limit
        auto response = co_await answer(zk, stream.socket(), std::move(request));
        stream.expires_after(30s);
        const auto [unsent, sent] = co_await http::async_write(stream, response, no_throw);
        keep_alive = !unsent && response.keep_alive();
    }
}

void tell(std::exception_ptr failed)
{
    try {
        if (failed)
            std::rethrow_exception(failed);
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
    }
}

asio::awaitable<void> listen(zklock::client zk, asio::ip::tcp::acceptor& acceptor)
{
    asio::steady_timer pause(acceptor.get_executor());
    for (;;) {
        auto [failed, socket] = co_await acceptor.async_accept(no_throw);
        if (failed == asio::error::operation_aborted)
            break;
        if (failed) { // such as: too many open files
            std::cerr << "accept: " << failed.message() << '\n';
            pause.expires_after(100ms);
            static_cast<void>(co_await pause.async_wait(no_throw));
            continue;
        }
        asio::co_spawn(acceptor.get_executor(), converse(zk, std::move(socket)), tell);
    }
}

asio::awaitable<void> program(zklock::client zk, unsigned short port)
{
    const auto executor = co_await asio::this_coro::executor;
    const auto made = co_await zk.create(stock, "10");
    if (!made && made.error() != zklock::errc::node_exists)
        throw boost::system::system_error(made.error());
    asio::signal_set signals(executor, SIGINT, SIGTERM);
    asio::ip::tcp::acceptor acceptor(executor, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), port));
    std::cout << "listening on " << acceptor.local_endpoint().port() << std::endl;
    static_cast<void>(co_await (listen(zk, acceptor) || signals.async_wait(asio::use_awaitable)));
    // Orders that wait for the lock are told: 503. (src/demo/http_server.cpp lets all end that are under way.)
    static_cast<void>(co_await zk.close());
}

int main(int count, char** arguments)
try {
    if (count != 3) {
        std::cerr << "usage: http_server SERVERS PORT\n";
        return 2;
    }
    asio::io_context io;
    zklock::client_options options;
    options.servers = arguments[1];
    const auto port = static_cast<unsigned short>(std::stoi(arguments[2]));
    asio::co_spawn(io, program(zklock::client(io, options), port), [&](std::exception_ptr failed) {
        io.stop(); // connections that are idle do not keep the program
        if (failed)
            std::rethrow_exception(failed);
    });
    io.run();
    return 0;
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}

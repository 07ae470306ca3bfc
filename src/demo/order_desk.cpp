#include "order_desk.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <stdexcept>
#include <utility>

namespace demo {

namespace {

double milliseconds(std::chrono::steady_clock::duration d)
{
    return std::chrono::duration<double, std::milli>(d).count();
}

} // namespace

order_desk::order_desk(database& shared, desk_settings settings) : database_(shared), settings_(std::move(settings))
{
    if (settings_.fenced && !settings_.lock) {
        throw std::invalid_argument("there are no tokens without a lock");
    }
}

asio::awaitable<zklock::result<receipt>> order_desk::order(order_wishes wishes)
{
    auto asked = clock::now();
    if (!settings_.lock || wishes.without_lock) {
        co_return co_await sell(wishes, asked, std::nullopt);
    }
    if (!settings_.lock->session_per_order) {
        co_return co_await sell_locked(settings_.lock->client, wishes, asked);
    }
    co_return co_await sell_in_own_session(wishes, asked);
}

asio::awaitable<zklock::result<receipt>> order_desk::sell_locked(zklock::client client, const order_wishes& wishes,
                                                                 clock::time_point asked)
{
    zklock::mutex_options options;
    options.identifier = wishes.buyer; // so that the queue can be read by people
    options.properties["server"] = settings_.server;
    options.metrics_name = "stock";
    zklock::mutex mutex(client, settings_.lock->path, options);
    auto body = [&](zklock::guard& guard) {
        return sell(wishes, asked, grant{guard.fencing_token(), client.session_id()});
    };
    co_return co_await mutex.run(settings_.lock->timeout, body);
}

asio::awaitable<zklock::result<receipt>> order_desk::sell_in_own_session(const order_wishes& wishes,
                                                                         clock::time_point asked)
{
    if (given_up_) {
        co_return make_error_code(zklock::errc::closed);
    }
    zklock::client_options options = *settings_.lock->session_per_order;
    options.identifier = wishes.buyer;
    auto own = std::make_shared<zklock::client>(co_await asio::this_coro::executor, options);
    std::erase_if(own_sessions_, [](const auto& former) { return former.expired(); });
    own_sessions_.push_back(own);

    auto sold = co_await sell_locked(*own, wishes, asked); // it waits for the connection, too
    auto closed = co_await own->close();
    if (!closed) {
        // What became of the order is known all the same.
        fmt::print(stderr, "order server {}: closing the session of {}: {}\n", settings_.server, wishes.buyer,
                   closed.error().message());
    }
    co_return sold;
}

asio::awaitable<zklock::result<std::vector<zklock::contender>>> order_desk::queue()
{
    if (!settings_.lock) {
        co_return std::vector<zklock::contender>();
    }
    zklock::mutex mutex(settings_.lock->client, settings_.lock->path);
    co_return co_await mutex.contenders();
}

void order_desk::give_up()
{
    given_up_ = true;
    for (const auto& session : own_sessions_) {
        if (auto client = session.lock()) {
            client->close([](boost::system::error_code) {});
        }
    }
}

/// Whether this order is one of a rush that was broken off: its buyer is gone, and the stock is another's.
bool order_desk::rush_over(const order_wishes& wishes)
{
    return wishes.rush != 0 && wishes.rush != database_.last_rush();
}

/// The order itself. It is as careless as such code usually is: the stock that it writes is the one it read before the
/// payment, minus one.
asio::awaitable<zklock::result<receipt>> order_desk::sell(const order_wishes& wishes, clock::time_point asked,
                                                          std::optional<grant> held)
{
    auto started = clock::now();
    receipt r;
    r.order.buyer = wishes.buyer;
    r.order.server = settings_.server;
    if (held) {
        r.order.token = held->token;
        r.order.session = held->session;
    }
    r.order.waited_ms = milliseconds(started - asked);

    if (rush_over(wishes)) { // while this order waited
        r.what = receipt::outcome::rush_over;
        co_return r;
    }
    r.order.stock_read = database_.units();
    if (r.order.stock_read < 1) {
        r.what = receipt::outcome::sold_out;
        r.held_ms = milliseconds(clock::now() - started);
        co_return r;
    }

    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer payment(executor, settings_.payment);
    auto [error] = co_await payment.async_wait(asio::as_tuple(asio::use_awaitable));
    if (error) {
        co_return error; // the lock was lost: run() says so
    }

    if (rush_over(wishes)) { // during the payment
        r.what = receipt::outcome::rush_over;
        co_return r;
    }
    r.stock_written = r.order.stock_read - 1;
    if (!settings_.fenced || !held) {
        database_.write_units(r.stock_written); // the same statement with the lock and without it
    } else if (!database_.write_units(r.stock_written, held->token)) {
        // Somebody with a later token was here: this order lost the lock and has not heard of it yet.
        database_.insert_stale_write(r.order);
        r.what = receipt::outcome::stale_token;
        co_return r;
    }
    r.order.id = database_.insert_order(r.order);
    r.held_ms = milliseconds(clock::now() - started);
    co_return r;
}

} // namespace demo

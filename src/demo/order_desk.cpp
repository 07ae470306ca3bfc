#include "order_desk.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace demo {

namespace {

double milliseconds(std::chrono::steady_clock::duration d)
{
    return std::chrono::duration<double, std::milli>(d).count();
}

} // namespace

order_desk::order_desk(database& shared, std::string server, std::chrono::milliseconds payment,
                       std::optional<lock_settings> lock)
    : database_(shared), server_(std::move(server)), payment_(payment), lock_(std::move(lock))
{
}

asio::awaitable<zklock::result<receipt>> order_desk::order(std::string buyer)
{
    auto asked = clock::now();
    if (!lock_) {
        co_return co_await sell(buyer, asked, std::nullopt);
    }

    zklock::mutex_options options;
    options.identifier = buyer; // so that the queue can be read by people
    options.metrics_name = "stock";
    zklock::mutex mutex(lock_->client, lock_->path, options);
    auto body = [&](zklock::guard& guard) { return sell(buyer, asked, guard.fencing_token()); };
    co_return co_await mutex.run(lock_->timeout, body);
}

asio::awaitable<zklock::result<std::vector<zklock::contender>>> order_desk::queue()
{
    if (!lock_) {
        co_return std::vector<zklock::contender>();
    }
    zklock::mutex mutex(lock_->client, lock_->path);
    co_return co_await mutex.contenders();
}

/// The order itself. It is as careless as such code usually is: the stock that it writes is the one it read before the
/// payment, minus one.
asio::awaitable<zklock::result<receipt>> order_desk::sell(const std::string& buyer, clock::time_point asked,
                                                          std::optional<std::int64_t> token)
{
    auto started = clock::now();
    receipt r;
    r.order.buyer = buyer;
    r.order.server = server_;
    r.order.token = token;
    r.order.waited_ms = milliseconds(started - asked);

    r.order.stock_read = database_.units();
    if (r.order.stock_read < 1) {
        r.what = receipt::outcome::sold_out;
        r.held_ms = milliseconds(clock::now() - started);
        co_return r;
    }

    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer payment(executor, payment_);
    auto [error] = co_await payment.async_wait(asio::as_tuple(asio::use_awaitable));
    if (error) {
        co_return error; // the lock was lost: run() says so
    }

    r.stock_written = r.order.stock_read - 1;
    if (!token) {
        database_.write_units(r.stock_written);
    } else if (!database_.write_units(r.stock_written, *token)) {
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

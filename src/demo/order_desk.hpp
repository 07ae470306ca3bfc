#pragma once
#include "database.hpp"

#include <zklock/client.hpp>
#include <zklock/contender.hpp>
#include <zklock/guard.hpp>
#include <zklock/mutex.hpp>
#include <zklock/result.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace demo {

namespace asio = boost::asio;

/// What became of an order.
struct receipt {
    enum class outcome { sold, sold_out, stale_token };

    outcome what = outcome::sold;
    order_row order;
    int stock_written = 0; ///< when sold
    double held_ms = 0;    ///< how long the order took once it had its turn
};

/// Where the lock is, and how long an order waits for it.
struct lock_settings {
    zklock::client client;
    std::string path;
    std::chrono::milliseconds timeout;
};

/// Takes orders: reads the stock, takes the payment, writes the stock. With the lock one order at a time does so among
/// all servers, without it they interleave.
class order_desk {
public:
    order_desk(database&, std::string server, std::chrono::milliseconds payment, std::optional<lock_settings>);

    /// Fails with what the lock failed with; throws what the database throws.
    asio::awaitable<zklock::result<receipt>> order(std::string buyer);

    /// Who queues for the lock, the holder first. Nobody without the lock.
    asio::awaitable<zklock::result<std::vector<zklock::contender>>> queue();

private:
    using clock = std::chrono::steady_clock;

    asio::awaitable<zklock::result<receipt>> sell(const std::string& buyer, clock::time_point asked,
                                                  std::optional<std::int64_t> token);

    database& database_;
    std::string server_;
    std::chrono::milliseconds payment_;
    std::optional<lock_settings> lock_;
};

} // namespace demo

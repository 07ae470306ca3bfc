#pragma once
#include "database.hpp"

#include <zklock/client.hpp>
#include <zklock/client_options.hpp>
#include <zklock/events.hpp>
#include <zklock/guard.hpp>
#include <zklock/mutex.hpp>
#include <zklock/result.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace demo {

namespace asio = boost::asio;

struct order_wishes {
    std::string buyer;
    bool without_lock = false; ///< beside those who hold it
    std::int64_t rush = 0;     ///< if not 0: refused when another rush has begun by now
};

/// What became of an order.
struct receipt {
    enum class outcome { sold, sold_out, stale_token, rush_over };

    outcome what = outcome::sold;
    order_row order;
    int stock_written = 0; ///< when sold
    double held_ms = 0;    ///< how long it took, from the lock on if there is one
};

/// Where the lock is, and how long an order waits for it.
struct lock_settings {
    zklock::client client; ///< the server's own: it reads the queue, and orders take the lock through it
    std::string path;
    std::chrono::milliseconds timeout;
    /// If there are any, each order takes the lock through a client of its own with these options, as if each buyer
    /// were a process. The client's identifier is the buyer's name.
    std::optional<zklock::client_options> session_per_order;
};

struct desk_settings {
    std::string server; ///< its name
    std::chrono::milliseconds payment{};
    bool fenced = false; ///< the stock refuses a write whose token is older than that of its last write
    std::optional<lock_settings> lock;
};

/// Takes orders: reads the stock, takes the payment, writes the stock. With the lock one order at a time does so among
/// all servers, without it they interleave.
class order_desk {
public:
    /// @throws std::invalid_argument: fenced without a lock.
    order_desk(database&, desk_settings);

    /// With the lock, if there is one. Fails with what the lock failed with; throws what the database throws.
    asio::awaitable<zklock::result<receipt>> order(order_wishes);

    [[nodiscard]] bool has_lock() const { return settings_.lock.has_value(); }

    /// Who queues for the lock, the holder first. Nobody without the lock.
    asio::awaitable<zklock::result<std::vector<zklock::contender>>> queue();

    /// Closes the clients that orders have of their own. Those orders, and all later ones, end with `errc::closed`.
    void give_up();

private:
    using clock = std::chrono::steady_clock;

    struct grant {
        std::int64_t token;
        std::int64_t session;
    };

    asio::awaitable<zklock::result<receipt>> sell_locked(zklock::client, const order_wishes&, clock::time_point asked);
    asio::awaitable<zklock::result<receipt>> sell_in_own_session(const order_wishes&, clock::time_point asked);
    asio::awaitable<zklock::result<receipt>> sell(const order_wishes&, clock::time_point asked, std::optional<grant>);
    bool rush_over(const order_wishes&);

    database& database_;
    desk_settings settings_;
    std::vector<std::weak_ptr<zklock::client>> own_sessions_; ///< of the orders under way
    bool given_up_ = false;
};

} // namespace demo

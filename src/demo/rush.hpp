#pragma once
#include "background.hpp"
#include "database.hpp"
#include "shopping.hpp"

#include <zklock/client.hpp>
#include <zklock/guard.hpp>
#include <zklock/mutex.hpp>
#include <zklock/result.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace demo {

namespace asio = boost::asio;

struct rush_settings {
    int buyers = 0;
    int units = 0;
    std::chrono::seconds patience{};      ///< of each buyer
    std::optional<zklock::client> client; ///< nothing: a server without the lock
    std::string path;                     ///< of the lock that a rush has as long as it is under way
};

/// Rushes: a new stock, and buyers who all order at the same moment, spread over all order servers. One at a time
/// among all servers that have the lock.
class rush_desk {
public:
    /// `changed` is called when a rush begins or ends, and for each buyer who has an answer.
    rush_desk(asio::any_io_executor, database&, rush_settings, std::function<void()> changed);

    /// Starts one, whose orders ask for the lock or not, and gives its number. `errc::busy`: one is under way; or what
    /// its lock cannot be had for. Throws what the database throws.
    asio::awaitable<zklock::result<std::int64_t>> start(bool with_lock);

    [[nodiscard]] bool under_way() const { return under_way_; }

    /// The buyers of the one that is under way go, and nobody counts what was sold.
    void stop();
    /// Waits until none is under way.
    asio::awaitable<void> ended() { return background_.ended(); }

private:
    asio::awaitable<void> play(std::int64_t id, bool with_lock, zklock::guard);
    asio::awaitable<void> send_buyers(std::int64_t id, bool with_lock, std::vector<purchase>&);

    asio::any_io_executor executor_;
    database& database_;
    rush_settings settings_;
    std::optional<zklock::mutex> one_at_a_time_;
    std::function<void()> changed_;
    background background_;
    std::deque<http_connection> connections_; ///< of the buyers
    bool under_way_ = false;
    bool stopped_ = false;
};

} // namespace demo

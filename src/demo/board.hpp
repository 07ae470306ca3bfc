#pragma once
#include "background.hpp"
#include "database.hpp"
#include "http_server.hpp"
#include "lock_watch.hpp"

#include <zklock/client.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace demo {

namespace asio = boost::asio;

struct board_settings {
    std::string server; ///< its name
    int rush_buyers = 0;
    int rush_units = 0;
    std::optional<zklock::client> client; ///< nothing: a server without the lock
    std::string path;                     ///< of the lock
    std::string rush_path;                ///< of the lock that a rush has as long as it is under way
};

/// What the page shows: stock, orders, who holds the lock and who waits. Put together once for all who look, whenever
/// something has changed, and not more than 25 times in a second. Orders of other servers without the lock, of which
/// nobody tells, are looked for in the database every half second. While nobody looks, nothing is read.
class board {
public:
    /// `rushing`: whether a rush of this server is under way.
    board(asio::any_io_executor, database&, board_settings, std::function<bool()> rushing);
    ~board();
    board(const board&) = delete;
    board& operator=(const board&) = delete;

    /// What a page shows, from now on: each event is the newest state. To be destroyed before the board.
    std::unique_ptr<event_stream> watch();
    [[nodiscard]] std::size_t viewers() const { return viewers_; }

    /// There is something else in the database, or a rush has begun or ended.
    void changed();

    /// Ends what runs here; what waits for a connection ends when the client is closed.
    void stop();
    /// Waits until nothing runs here.
    asio::awaitable<void> ended() { return background_.ended(); }

private:
    class view;

    asio::awaitable<void> run();
    std::string compose();
    void left(); ///< by one who looked

    using clock = std::chrono::steady_clock;

    database& database_;
    board_settings settings_;
    std::function<bool()> rushing_;
    std::optional<lock_watch> lock_, rush_lock_;
    background background_;
    nap pause_; ///< as long as it lasts, changes are gathered
    nap idle_;  ///< ended by a change
    bell published_;
    std::string newest_;        ///< empty as long as nobody has looked
    std::uint64_t version_ = 0; ///< of `newest_`
    clock::time_point told_;    ///< when the viewers were sent something
    std::size_t viewers_ = 0;
    bool changed_ = false;
    bool stopped_ = false;
};

} // namespace demo

#include "rush.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace demo {

using asio::ip::tcp;

rush_desk::rush_desk(asio::any_io_executor executor, database& shared, rush_settings settings,
                     std::function<void()> changed)
    : executor_(executor), database_(shared), settings_(std::move(settings)), changed_(std::move(changed)),
      background_(executor)
{
    if (settings_.client) {
        one_at_a_time_.emplace(*settings_.client, settings_.path);
    }
}

asio::awaitable<zklock::result<std::int64_t>> rush_desk::start(bool with_lock)
{
    if (stopped_) {
        co_return make_error_code(zklock::errc::closed);
    }
    if (under_way_) {
        co_return make_error_code(zklock::errc::busy);
    }
    under_way_ = true;
    struct taken_back {
        rush_desk* desk;
        ~taken_back()
        {
            if (desk) {
                desk->under_way_ = false;
            }
        }
    } unless_started{this};

    zklock::guard guard; // empty where there is no lock: then only this server's own are kept apart
    if (one_at_a_time_) {
        auto taken = co_await one_at_a_time_->try_acquire();
        if (!taken) {
            co_return taken.error();
        }
        if (stopped_) { // meanwhile
            co_return make_error_code(zklock::errc::closed);
        }
        guard = std::move(taken.value());
    }
    auto id = database_.begin_rush(with_lock, settings_.buyers, settings_.units);
    background_.start(play(id, with_lock, std::move(guard)), fmt::format("rush {}", id));
    unless_started.desk = nullptr;
    changed_();
    co_return id;
}

asio::awaitable<void> rush_desk::play(std::int64_t id, bool with_lock, zklock::guard guard)
{
    struct over {
        rush_desk& desk;
        ~over()
        {
            desk.under_way_ = false;
            desk.connections_.clear();
            desk.changed_();
        }
    } at_the_end{*this};

    std::vector<purchase> purchases(static_cast<std::size_t>(settings_.buyers));
    co_await send_buyers(id, with_lock, purchases);
    if (!stopped_) {
        auto unanswered =
            std::count_if(purchases.begin(), purchases.end(), [](const purchase& p) { return !p.answered; });
        database_.end_rush(id, static_cast<int>(unanswered));
    }
    if (guard) {
        auto released = co_await std::move(guard).release();
        if (!released) {
            fmt::print(stderr, "rush {}: giving its lock back: {}\n", id, released.error().message());
        }
    }
}

/// Returns when each buyer has an answer, or has given up.
asio::awaitable<void> rush_desk::send_buyers(std::int64_t id, bool with_lock, std::vector<purchase>& purchases)
{
    std::vector<tcp::endpoint> servers;
    for (const server_row& server : database_.servers()) {
        servers.push_back(endpoint_of(server.address));
    }
    if (servers.empty()) {
        throw std::runtime_error("no server takes orders");
    }
    starting_gate gate(executor_, settings_.buyers);
    background shopping(executor_);
    auto shop = [&](http_connection& connection, tcp::endpoint server, purchase& made) -> asio::awaitable<void> {
        // It names its rush: if that is broken off, what waits elsewhere must not sell from the next one's stock.
        boost::json::object order{{"lock", with_lock}, {"rush", id}};
        co_await buy(gate, connection, server, std::move(order), made);
        changed_();
    };
    for (int buyer = 0; buyer < settings_.buyers; ++buyer) {
        auto at = static_cast<std::size_t>(buyer);
        purchases[at].buyer = name_of(buyer);
        connections_.emplace_back(executor_, settings_.patience);
        shopping.start(shop(connections_.back(), servers[at % servers.size()], purchases[at]), purchases[at].buyer);
    }
    co_await shopping.ended();
}

void rush_desk::stop()
{
    stopped_ = true;
    for (http_connection& connection : connections_) {
        connection.close();
    }
}

} // namespace demo

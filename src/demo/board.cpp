#include "board.hpp"

#include "json_text.hpp"
#include "order_json.hpp"

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace demo {

namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

constexpr auto between_looks = 40ms;
constexpr auto between_looks_unasked = 500ms;
constexpr auto between_signs_of_life = 15s;
constexpr int orders_at_most = 24;
constexpr std::size_t contenders_at_most = 24;

json::value result_seen(const std::optional<rush_row>& rush)
{
    if (!rush || !rush->ended) {
        return nullptr;
    }
    const rush_row::result& ended = *rush->ended;
    return {{"rush", rush->id},
            {"buyers", rush->buyers},
            {"units", rush->units},
            {"sold", ended.sold},
            {"oversold", std::max(0, ended.sold - rush->units)},
            {"left_over", ended.left_over},
            {"unanswered", ended.unanswered}};
}

json::value contender_seen(const zklock::contender& c)
{
    auto server = c.properties.find("server");
    return {{"buyer", c.identifier},
            {"server", server == c.properties.end() ? "" : server->second},
            {"sequence", c.sequence}};
}

json::value queue_seen(const lock_watch& lock)
{
    if (!lock.contenders()) {
        return nullptr;
    }
    const auto& all = *lock.contenders();
    json::array first;
    for (std::size_t i = 0; i < std::min(all.size(), contenders_at_most); ++i) {
        first.push_back(contender_seen(all[i]));
    }
    return {{"length", all.size()}, {"first", std::move(first)}};
}

} // namespace

/// One page. It knows which state it was sent last, and goes on with the newest.
class board::view : public event_stream {
public:
    explicit view(board& b) : board_(b) {}
    ~view() override { board_.left(); }

    asio::awaitable<std::string> next() override
    {
        auto waits_since = board_.told_;
        while (board_.newest_.empty() || version_ == board_.version_) {
            if (board_.stopped_ || (!board_.newest_.empty() && waits_since != board_.told_)) {
                co_return ":\n\n"; // nothing new, but the server lives
            }
            co_await board_.published_.wait();
            auto state = co_await asio::this_coro::cancellation_state;
            if (state.cancelled() != asio::cancellation_type::none) {
                co_return "";
            }
        }
        std::string first = version_ == 0 ? "retry: 500\n" : "";
        version_ = board_.version_;
        co_return first + "id: " + std::to_string(version_) + "\nevent: state\ndata: " + board_.newest_ + "\n\n";
    }

private:
    board& board_;
    std::uint64_t version_ = 0;
};

board::board(asio::any_io_executor executor, database& shared, board_settings settings, std::function<bool()> rushing)
    : database_(shared), settings_(std::move(settings)), rushing_(std::move(rushing)), background_(executor),
      pause_(executor), idle_(executor), published_(executor)
{
    if (settings_.client) {
        auto tell = [this] { changed(); };
        lock_.emplace(*settings_.client, settings_.path, tell);
        rush_lock_.emplace(*settings_.client, settings_.rush_path, tell);
        background_.start(lock_->follow(), "the queue");
        background_.start(rush_lock_->follow(), "the queue of rushes");
    }
    background_.start(run(), "the page");
}

board::~board() = default;

std::unique_ptr<event_stream> board::watch()
{
    auto seen = std::make_unique<view>(*this);
    if (++viewers_ == 1) {
        if (lock_) {
            lock_->wanted(true);
            rush_lock_->wanted(true);
        }
        changed();
    }
    return seen;
}

void board::left()
{
    if (--viewers_ == 0) {
        newest_.clear();
        if (lock_) {
            lock_->wanted(false);
            rush_lock_->wanted(false);
        }
    }
}

void board::changed()
{
    changed_ = true;
    idle_.end();
}

asio::awaitable<void> board::run()
{
    while (!stopped_) {
        if (viewers_ == 0) {
            co_await idle_.rest(1h);
            continue;
        }
        changed_ = false;
        std::string state = compose();
        auto now = clock::now();
        bool other = state != newest_;
        if (other || now - told_ >= between_signs_of_life) {
            if (other) {
                newest_ = std::move(state);
                ++version_;
            }
            told_ = now;
            published_.ring();
        }
        co_await pause_.rest(between_looks);
        if (!changed_ && !stopped_) {
            co_await idle_.rest(between_looks_unasked);
        }
    }
    published_.ring();
}

std::string board::compose()
{
    json::object o{{"server", settings_.server},
                   {"lock", settings_.client.has_value()},
                   {"rush_buyers", settings_.rush_buyers},
                   {"rush_units", settings_.rush_units},
                   {"queue", nullptr}};
    std::string failure;
    bool under_way = rushing_();
    if (settings_.client) {
        auto connection = settings_.client->state();
        o["connection"] = zklock::to_string(connection);
        o["queue"] = queue_seen(*lock_);
        failure = lock_->failure();
        const auto& rushes = rush_lock_->contenders();
        under_way = under_way || (rushes && !rushes->empty());
    }
    try {
        shop_view shop = database_.look(orders_at_most);
        o["units"] = shop.units;
        o["sold"] = shop.sold;
        json::array orders;
        for (const order_row& order : shop.orders) {
            orders.push_back(as_json(order));
        }
        o["orders"] = std::move(orders);
        o["rush"] = nullptr;
        if (shop.rush) {
            const rush_row& rush = *shop.rush;
            o["rush"] = {{"id", rush.id},
                         {"with_lock", rush.with_lock},
                         {"buyers", rush.buyers},
                         {"units", rush.units},
                         {"oversold", std::max(0, shop.sold - rush.units)},
                         {"under_way", under_way && !rush.ended},
                         {"ended", rush.ended.has_value()}};
        }
        o["last"] = {{"with_lock", result_seen(shop.ended_with_lock)},
                     {"without_lock", result_seen(shop.ended_without_lock)}};
    } catch (const std::exception& e) { // tried again half a second later
        failure = e.what();
    }
    o["failure"] = failure;
    return json_text(std::move(o));
}

void board::stop()
{
    stopped_ = true;
    if (lock_) {
        lock_->stop();
        rush_lock_->stop();
    }
    pause_.end();
    idle_.end();
    published_.ring();
}

} // namespace demo

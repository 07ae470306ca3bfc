#include "order_routes.hpp"

#include "json_text.hpp"
#include "order_json.hpp"
#include "page.hpp"

#include <boost/algorithm/string/predicate.hpp>
#include <boost/json.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace demo {

namespace json = boost::json;

namespace {

http_response reply(unsigned status, json::value body)
{
    http_response r;
    r.status = status;
    r.body = json_text(std::move(body));
    return r;
}

/// A page of somebody else's cannot have the browser of one who looks at it send this type here: for that, this server
/// would have to allow it.
bool is_json(std::string_view type)
{
    return boost::algorithm::iequals(type.substr(0, type.find_first_of("; \t")), "application/json");
}

std::optional<json::object> object_in(const std::string& body)
{
    boost::system::error_code error;
    json::value value = json::parse(body, error);
    if (error || !value.is_object()) {
        return std::nullopt;
    }
    return std::move(value.as_object());
}

/// The buyer's name in an order, if it is one.
std::optional<std::string> buyer_in(const json::object& order)
{
    const json::value* buyer = order.if_contains("buyer");
    const json::string* name = buyer ? buyer->if_string() : nullptr;
    auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (!name || name->empty() || name->size() > 100 || std::any_of(name->begin(), name->end(), control)) {
        return std::nullopt;
    }
    return std::string(name->data(), name->size());
}

/// The rush that an order belongs to: nothing, if it is no number. 0, which no rush has, if it belongs to none.
std::optional<std::int64_t> rush_in(const json::object& order)
{
    const json::value* rush = order.if_contains("rush");
    if (!rush) {
        return 0;
    }
    const std::int64_t* number = rush->if_int64();
    return number && *number > 0 ? std::optional(*number) : std::nullopt;
}

/// What an order or a rush says about the lock.
enum class lock_wish { unsaid, with, without, unreadable };

lock_wish lock_in(const json::object& request)
{
    const json::value* lock = request.if_contains("lock");
    if (!lock) {
        return lock_wish::unsaid;
    }
    if (!lock->is_bool()) {
        return lock_wish::unreadable;
    }
    return lock->as_bool() ? lock_wish::with : lock_wish::without;
}

} // namespace

order_routes::order_routes(asio::any_io_executor executor, database& shared, desk_settings desk, rush_settings rush,
                           board_settings seen)
    : name_(desk.server), database_(shared), client_(seen.client), desk_(shared, std::move(desk)),
      rushes_(executor, shared, std::move(rush), [this] { board_.changed(); }),
      board_(executor, shared, std::move(seen), [this] { return rushes_.under_way(); })
{
}

void order_routes::stop()
{
    rushes_.stop();
    board_.stop();
}

void order_routes::give_up()
{
    if (client_) {
        client_->close([](boost::system::error_code) {});
    }
    desk_.give_up();
}

asio::awaitable<http_response> order_routes::handle(const http_request& request)
{
    struct route {
        std::string_view method, target;
        asio::awaitable<http_response> (order_routes::*answer)(const http_request&);
    };
    static constexpr route routes[] = {{"GET", "/", &order_routes::page},
                                       {"GET", "/events", &order_routes::events},
                                       {"POST", "/rush", &order_routes::start_rush},
                                       {"POST", "/orders", &order_routes::take_order},
                                       {"GET", "/report", &order_routes::report},
                                       {"GET", "/queue", &order_routes::queue},
                                       {"GET", "/health", &order_routes::health},
                                       {"GET", "/metrics", &order_routes::metrics}};
    std::string_view target = request.target;
    target = target.substr(0, target.find('?')); // no answer depends on a query
    bool known = false;
    for (const route& r : routes) {
        if (target == r.target) {
            known = true;
            if (request.method == r.method) {
                if (request.method == "POST" && !is_json(request.type)) {
                    co_return failure(415, "the body has to be application/json");
                }
                co_return co_await (this->*r.answer)(request);
            }
        }
    }
    co_return known ? failure(405, "wrong method") : failure(404, "there is nothing here");
}

asio::awaitable<http_response> order_routes::page(const http_request&)
{
    http_response html;
    html.body = page_html;
    html.type = "text/html; charset=utf-8";
    co_return html;
}

asio::awaitable<http_response> order_routes::events(const http_request&)
{
    http_response stream;
    stream.events = board_.watch();
    co_return stream;
}

asio::awaitable<http_response> order_routes::start_rush(const http_request& request)
{
    auto asked = object_in(request.body);
    auto lock = asked ? lock_in(*asked) : lock_wish::unreadable;
    if (lock != lock_wish::with && lock != lock_wish::without) {
        co_return failure(400, R"(a rush is {"lock": true} or {"lock": false})");
    }
    if (lock == lock_wish::with && !desk_.has_lock()) {
        co_return failure(400, "this server takes orders without the lock only");
    }
    auto started = co_await rushes_.start(lock == lock_wish::with);
    if (!started && started.error() == zklock::errc::busy) {
        co_return failure(409, "a rush is under way");
    }
    if (!started) {
        co_return failure(503, "no rush: " + started.error().message());
    }
    co_return reply(202, {{"rush", started.value()}});
}

asio::awaitable<http_response> order_routes::take_order(const http_request& request)
{
    auto order = object_in(request.body);
    auto buyer = order ? buyer_in(*order) : std::nullopt;
    auto lock = order ? lock_in(*order) : lock_wish::unreadable;
    auto rush = order ? rush_in(*order) : std::nullopt;
    if (!buyer || !rush || lock == lock_wish::unreadable) {
        co_return failure(400, R"(an order is {"buyer": "NAME"}, of up to 100 printable characters; "lock": false )"
                               R"(takes it without the lock; "rush": NUMBER, only as long as that is the last rush)");
    }
    if (lock == lock_wish::with && !desk_.has_lock()) {
        co_return failure(400, "this server takes orders without the lock only");
    }
    order_wishes wishes{*buyer, lock == lock_wish::without, *rush};
    auto placed = co_await desk_.order(std::move(wishes));
    board_.changed();
    if (!placed) {
        co_return failure(503, "no lock: " + placed.error().message());
    }

    using outcome = receipt::outcome;
    const receipt& receipt = placed.value();
    json::value body = as_json(receipt.order);
    json::object& o = body.as_object();
    o["held_ms"] = receipt.held_ms;
    switch (receipt.what) {
    case outcome::sold:
        o["outcome"] = "sold";
        o["stock_written"] = receipt.stock_written;
        co_return reply(201, std::move(body));
    case outcome::sold_out: o["outcome"] = "sold out"; co_return reply(409, std::move(body));
    case outcome::rush_over: o["outcome"] = "refused: another rush has begun"; co_return reply(410, std::move(body));
    case outcome::stale_token: break;
    }
    o["outcome"] = "refused: a later token has written";
    co_return reply(503, std::move(body));
}

asio::awaitable<http_response> order_routes::report(const http_request&)
{
    json::array orders;
    for (const order_row& order : database_.orders()) {
        orders.push_back(as_json(order));
    }
    auto sold = orders.size();
    co_return reply(200, {{"units", database_.units()},
                          {"last_token", database_.last_token()},
                          {"stale_writes", database_.stale_writes()},
                          {"sold", sold},
                          {"orders", std::move(orders)}});
}

asio::awaitable<http_response> order_routes::queue(const http_request&)
{
    auto contenders = co_await desk_.queue();
    if (!contenders) {
        co_return failure(503, contenders.error().message());
    }
    json::array queue;
    for (const zklock::contender& c : contenders.value()) {
        queue.push_back({{"buyer", c.identifier},
                         {"node", c.node},
                         {"sequence", c.sequence},
                         {"session", c.session_id},
                         {"ours", c.ours}});
    }
    co_return reply(200, {{"queue", std::move(queue)}});
}

asio::awaitable<http_response> order_routes::health(const http_request&)
{
    json::object o{{"server", name_}, {"lock", client_.has_value()}};
    unsigned status = 200;
    if (client_) {
        auto state = client_->state();
        o["connection"] = zklock::to_string(state);
        status = state == zklock::connection_state::connected ? 200 : 503;
    }
    o["viewers"] = board_.viewers();
    co_return reply(status, std::move(o));
}

asio::awaitable<http_response> order_routes::metrics(const http_request&)
{
    if (!client_) {
        co_return failure(404, "there is no lock");
    }
    http_response text;
    text.body = zklock::prometheus_text(client_->metrics());
    text.type = "text/plain; version=0.0.4; charset=utf-8";
    co_return text;
}

} // namespace demo

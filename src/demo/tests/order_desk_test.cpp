// The order desk, without servers: an ensemble in memory, and a database in a file of its own.
#include "order_desk.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <zklock/testing/ensemble.hpp>

#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include <stdlib.h>

using namespace demo;
using namespace std::chrono_literals;
using zklock::testing::ensemble;

namespace {

/// A shop with so many units, whose file goes with it.
class shop_file {
public:
    explicit shop_file(int units)
    {
        std::string name = std::filesystem::temp_directory_path() / "order_desk.XXXXXX";
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        folder_ = name;
        std::ostringstream sql;
        sql << std::ifstream(ZKLOCK_STOCK_SQL).rdbuf();
        sqlite3* made = nullptr;
        REQUIRE(sqlite3_open(path().c_str(), &made) == SQLITE_OK);
        const std::string all =
            sql.str() + "INSERT OR REPLACE INTO stock (id, units) VALUES (1, " + std::to_string(units) + ");";
        char* why = nullptr;
        CHECK_MESSAGE(sqlite3_exec(made, all.c_str(), nullptr, nullptr, &why) == SQLITE_OK, (why ? why : ""));
        sqlite3_close(made);
    }
    ~shop_file() { std::filesystem::remove_all(folder_); }
    shop_file(const shop_file&) = delete;
    shop_file& operator=(const shop_file&) = delete;

    [[nodiscard]] std::string path() const { return folder_ / "shop.db"; }

private:
    std::filesystem::path folder_;
};

/// Everything that an order needs.
struct scene {
    explicit scene(int units) : file(units), shop(file.path())
    {
        options.servers = zookeeper.servers();
        client.emplace(io, options);
    }
    [[nodiscard]] desk_settings settings(std::chrono::milliseconds timeout = 5s) const
    {
        return {"test", 0ms, true, lock_settings{*client, "/stock", timeout, std::nullopt}};
    }
    /// Runs it until the client is closed.
    void run(const std::function<asio::awaitable<void>()>& body)
    {
        const auto all = [&]() -> asio::awaitable<void> {
            co_await body();
            static_cast<void>(co_await client->close());
        };
        asio::co_spawn(io, all, [](std::exception_ptr failed) {
            if (failed)
                std::rethrow_exception(failed);
        });
        io.run();
    }

    shop_file file;
    database shop;
    ensemble zookeeper;
    asio::io_context io;
    zklock::client_options options;
    std::optional<zklock::client> client;
};

order_wishes of(const std::string& buyer)
{
    order_wishes wishes;
    wishes.buyer = buyer;
    return wishes;
}

} // namespace

TEST_CASE("an order sells one unit, under the lock's token; the last is sold out")
{
    scene s(1);
    order_desk desk(s.shop, s.settings());
    const auto body = [&]() -> asio::awaitable<void> {
        const auto first = co_await desk.order(of("ann"));
        REQUIRE(first);
        CHECK(first.value().what == receipt::outcome::sold);
        CHECK(first.value().order.token > 0);
        const auto second = co_await desk.order(of("bob"));
        REQUIRE(second);
        CHECK(second.value().what == receipt::outcome::sold_out);
    };
    s.run(body);
    CHECK(s.shop.units() == 0);
    CHECK(s.shop.orders().size() == 1);
    CHECK(s.zookeeper.children("/stock").empty());
}

TEST_CASE("an order that waits too long is told so, and sells nothing")
{
    scene s(1);
    s.zookeeper.hold("/stock", "another server");
    order_desk desk(s.shop, s.settings(20ms));
    const auto body = [&]() -> asio::awaitable<void> {
        const auto late = co_await desk.order(of("ann"));
        REQUIRE(late.has_error());
        CHECK(late.error() == zklock::errc::timed_out);
        s.zookeeper.stop();
        const auto away = co_await desk.order(of("ann"));
        REQUIRE(away.has_error());
        CHECK(away.error() == zklock::errc::not_connected);
    };
    s.run(body);
    CHECK(s.shop.units() == 1);
}

TEST_CASE("a lock that is lost in the middle of the payment sells nothing")
{
    scene s(1);
    auto settings = s.settings();
    settings.payment = 1h;
    order_desk desk(s.shop, settings);
    const auto body = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        std::optional<zklock::result<receipt>> ended;
        const auto orders = [&]() -> asio::awaitable<void> { ended.emplace(co_await desk.order(of("ann"))); };
        asio::co_spawn(executor, orders, asio::detached);
        while (s.zookeeper.children("/stock").empty())
            co_await s.zookeeper.pass(1ms, asio::use_awaitable);
        s.zookeeper.expire(s.client->session_id());
        while (!ended)
            co_await s.zookeeper.pass(1ms, asio::use_awaitable);
        REQUIRE(ended->has_error());
        CHECK(ended->error() == zklock::errc::lost);
    };
    s.run(body);
    CHECK(s.shop.units() == 1);
}

TEST_CASE("a write that comes after the next holder's is refused by its token")
{
    scene s(2);
    CHECK(s.shop.write_units(2, 1'000'000'000'000)); // somebody with a later token
    order_desk desk(s.shop, s.settings());
    const auto body = [&]() -> asio::awaitable<void> {
        const auto stale = co_await desk.order(of("ann"));
        REQUIRE(stale);
        CHECK(stale.value().what == receipt::outcome::stale_token);
    };
    s.run(body);
    CHECK(s.shop.units() == 2);
    CHECK(s.shop.stale_writes() == 1);
}

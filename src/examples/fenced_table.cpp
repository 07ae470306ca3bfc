// SPDX-License-Identifier: Apache-2.0
// Fencing a table of a database by the lock's token. Each grant of a lock has a larger token than all before it; the
// table keeps the largest that has written, and refuses smaller ones. So a holder that has lost the lock without
// noticing (its machine stood still, say) cannot overwrite what the next one has written.
//
//     fenced_table [SERVERS]
#include <boost/asio.hpp>
#include <sqlite3.h>
#include <zklock/zklock.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

class stock_table {
public:
    stock_table()
    {
        sqlite3* opened = nullptr;
        const int rc = sqlite3_open(":memory:", &opened);
        database_.reset(opened);
        if (rc != SQLITE_OK)
            fail();
        run("CREATE TABLE stock (id INTEGER PRIMARY KEY, units INTEGER NOT NULL, token INTEGER NOT NULL)");
        run("INSERT INTO stock VALUES (1, 10, 0)");
    }

    // The check and the write are one statement, and so one transaction. False: a larger token has written before.
    [[nodiscard]] bool write(int units, std::int64_t token)
    {
        const std::string t = std::to_string(token);
        run("UPDATE stock SET units = " + std::to_string(units) + ", token = " + t + " WHERE id = 1 AND token <= " + t);
        return sqlite3_changes(database_.get()) == 1;
    }

private:
    void run(const std::string& sql)
    {
        if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
            fail();
    }
    [[noreturn]] void fail() { throw std::runtime_error(sqlite3_errmsg(database_.get())); }

    struct close {
        void operator()(sqlite3* s) const { sqlite3_close(s); }
    };
    std::unique_ptr<sqlite3, close> database_;
};

void tell(const char* who, std::int64_t token, bool written)
{
    std::cout << who << ": token " << token << (written ? " has written\n" : " is refused\n");
}

asio::awaitable<bool> work(zklock::client first, zklock::client second)
{
    stock_table table;
    zklock::mutex lock(first, "/examples/fenced_table");
    auto held = co_await lock.acquire(5s);
    if (!held) {
        std::cerr << "no lock: " << held.error().message() << '\n';
        co_return false;
    }
    const std::int64_t token = held.value().fencing_token();
    tell("the first", token, table.write(9, token));

    // Now the first stands still for longer than its session lasts. (Here its session just ends.) The servers give the
    // lock to the next, who goes on.
    static_cast<void>(co_await first.close());
    zklock::mutex next_lock(second, "/examples/fenced_table");
    auto next = co_await next_lock.acquire(5s);
    if (!next) {
        std::cerr << "no lock: " << next.error().message() << '\n';
        co_return false;
    }
    const std::int64_t next_token = next.value().fencing_token();
    tell("the second", next_token, table.write(8, next_token));

    // The first wakes up in the middle of its work, and writes what it was about to write.
    const bool overwritten = table.write(5, token);
    tell("the first, late", token, overwritten);
    co_return !overwritten;
}

asio::awaitable<int> program(zklock::client first, zklock::client second)
{
    const bool well = co_await work(first, second);
    static_cast<void>(co_await first.close());
    static_cast<void>(co_await second.close());
    co_return well ? 0 : 1;
}

int main(int count, char** arguments)
try {
    asio::io_context io;
    zklock::client_options options;
    if (count > 1)
        options.servers = arguments[1];
    zklock::client first(io, options), second(io, options);
    auto status = asio::co_spawn(io, program(std::move(first), std::move(second)), asio::use_future);
    io.run();
    return status.get();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}

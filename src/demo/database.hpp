#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace demo {

/// One row of the table of orders.
struct order_row {
    std::int64_t id = 0;
    std::string buyer;
    std::string server;
    int stock_read = 0;
    std::optional<std::int64_t> token;
    std::optional<std::int64_t> session; ///< of ZooKeeper; like the token, none without the lock
    double waited_ms = 0;
};

/// The shop's database file (stock.sql), shared with other processes. Every call is one SQL statement and so a
/// transaction of its own: what makes a read and a later write belong together is the lock, or nothing.
/// Calls block for as long as SQLite needs, and throw std::runtime_error with its message.
class database {
public:
    explicit database(const std::string& file);

    int units();
    std::int64_t last_token();

    /// Writes the stock, whatever is there by now.
    void write_units(int units);
    /// Writes the stock unless the row was written with this token or a later one: false then.
    [[nodiscard]] bool write_units(int units, std::int64_t token);

    /// Adds an order and returns its number.
    std::int64_t insert_order(const order_row&);
    void insert_stale_write(const order_row&);

    std::vector<order_row> orders();
    int stale_writes();

private:
    class statement;
    int read_int(const char* sql);

    struct close_database {
        void operator()(sqlite3*) const noexcept;
    };
    std::unique_ptr<sqlite3, close_database> handle_;
};

} // namespace demo

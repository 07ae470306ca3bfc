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

/// One row of the table of servers.
struct server_row {
    std::string name;
    std::string address; ///< ADDRESS:PORT
};

/// One row of the table of rushes.
struct rush_row {
    struct result {
        int sold = 0;
        int left_over = 0;
        int unanswered = 0;
    };

    std::int64_t id = 0;
    bool with_lock = false;
    int buyers = 0;
    int units = 0;
    std::optional<result> ended; ///< nothing as long as it is under way, and if it was broken off
};

/// What the shop looks like at one moment.
struct shop_view {
    int units = 0;
    int sold = 0;
    std::vector<order_row> orders;           ///< the last ones, in the order of their numbers
    std::optional<rush_row> rush;            ///< the last one
    std::optional<rush_row> ended_with_lock; ///< the last that has ended, with the lock
    std::optional<rush_row> ended_without_lock;
};

/// The shop's database file (stock.sql), shared with other processes. Every call is a transaction of its own,
/// most of them one SQL statement: what makes a read and a later write belong together is the lock, or nothing.
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

    /// A server takes orders from now on; one of that name before it is forgotten.
    void open_server(const server_row&);
    void close_server(const std::string& name);
    std::vector<server_row> servers();

    /// There are so many units from now on, and no orders. Returns the number of the rush.
    std::int64_t begin_rush(bool with_lock, int buyers, int units);
    /// The number of the last rush; 0 if there was none.
    std::int64_t last_rush();
    /// Counts what was sold.
    void end_rush(std::int64_t id, int unanswered);

    /// All of it as of one moment, with no more than the last `orders_at_most` orders.
    shop_view look(int orders_at_most);

private:
    class statement;
    class transaction;
    std::vector<order_row> last_orders(int at_most);
    std::optional<rush_row> find_rush(const char* condition);
    int read_int(const char* sql);

    struct close_database {
        void operator()(sqlite3*) const noexcept;
    };
    std::unique_ptr<sqlite3, close_database> handle_;
};

} // namespace demo

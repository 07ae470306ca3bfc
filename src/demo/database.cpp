#include "database.hpp"

#include <sqlite3.h>

#include <stdexcept>

namespace demo {

namespace {

[[noreturn]] void fail(sqlite3* handle, const std::string& what)
{
    throw std::runtime_error(what + ": " + (handle ? sqlite3_errmsg(handle) : "out of memory"));
}

} // namespace

void database::close_database::operator()(sqlite3* handle) const noexcept
{
    sqlite3_close(handle);
}

/// A prepared statement for one use. It ends with its scope, so that no read transaction stays open between the
/// steps of an order.
class database::statement {
public:
    statement(sqlite3* handle, const char* sql) : handle_(handle)
    {
        if (sqlite3_prepare_v2(handle, sql, -1, &stmt_, nullptr) != SQLITE_OK) {
            fail(handle, sql);
        }
    }
    ~statement() { sqlite3_finalize(stmt_); }
    statement(const statement&) = delete;
    statement& operator=(const statement&) = delete;

    void bind(int at, std::int64_t value) { check(sqlite3_bind_int64(stmt_, at, value)); }
    void bind(int at, double value) { check(sqlite3_bind_double(stmt_, at, value)); }
    void bind(int at, const std::string& value)
    {
        check(sqlite3_bind_text(stmt_, at, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT));
    }
    void bind(int at, const std::optional<std::int64_t>& value)
    {
        check(value ? sqlite3_bind_int64(stmt_, at, *value) : sqlite3_bind_null(stmt_, at));
    }

    /// False after the last row.
    bool step()
    {
        int rc = sqlite3_step(stmt_);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
            fail(handle_, sqlite3_sql(stmt_));
        }
        return rc == SQLITE_ROW;
    }

    std::int64_t integer(int column) { return sqlite3_column_int64(stmt_, column); }
    double real(int column) { return sqlite3_column_double(stmt_, column); }
    bool null(int column) { return sqlite3_column_type(stmt_, column) == SQLITE_NULL; }
    std::string text(int column)
    {
        auto* chars = reinterpret_cast<const char*>(sqlite3_column_text(stmt_, column));
        return chars ? std::string(chars, static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column))) : "";
    }

private:
    void check(int rc)
    {
        if (rc != SQLITE_OK) {
            fail(handle_, sqlite3_sql(stmt_));
        }
    }

    sqlite3* handle_;
    sqlite3_stmt* stmt_ = nullptr;
};

/// Several statements as one. What is not committed is undone.
class database::transaction {
public:
    /// `kind`: DEFERRED, or IMMEDIATE for one that writes.
    transaction(sqlite3* handle, const char* kind) : handle_(handle)
    {
        statement(handle, (std::string("BEGIN ") + kind).c_str()).step();
    }
    ~transaction()
    {
        if (!committed_) {
            sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr); // what failed is told by an exception
        }
    }
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;

    void commit()
    {
        statement(handle_, "COMMIT").step();
        committed_ = true;
    }

private:
    sqlite3* handle_;
    bool committed_ = false;
};

database::database(const std::string& file)
{
    sqlite3* handle = nullptr;
    int rc = sqlite3_open_v2(file.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr);
    handle_.reset(handle);
    if (rc != SQLITE_OK) {
        fail(handle, file);
    }
    // The other servers write too, each for well under a millisecond.
    sqlite3_busy_timeout(handle, 5'000);
    // A power cut may cost the last orders of a demonstration; the file stays consistent.
    statement(handle, "PRAGMA synchronous = NORMAL").step();
    units(); // a file without the tables is found out now
    if (read_int("SELECT count(*) FROM sqlite_schema WHERE name IN ('stale_writes', 'servers', 'rushes')") != 3) {
        throw std::runtime_error(file + ": made by an older version, it lacks tables of stock.sql: make a new one");
    }
}

int database::units()
{
    return read_int("SELECT units FROM stock WHERE id = 1");
}

std::int64_t database::last_token()
{
    statement query(handle_.get(), "SELECT last_token FROM stock WHERE id = 1");
    if (!query.step()) {
        throw std::runtime_error("the table of stock is empty");
    }
    return query.integer(0);
}

void database::write_units(int units)
{
    statement update(handle_.get(), "UPDATE stock SET units = ?1 WHERE id = 1");
    update.bind(1, std::int64_t{units});
    update.step();
}

bool database::write_units(int units, std::int64_t token)
{
    statement update(handle_.get(), "UPDATE stock SET units = ?1, last_token = ?2 WHERE id = 1 AND last_token < ?2");
    update.bind(1, std::int64_t{units});
    update.bind(2, token);
    update.step();
    return sqlite3_changes(handle_.get()) == 1;
}

std::int64_t database::insert_order(const order_row& order)
{
    statement insert(handle_.get(), "INSERT INTO orders (buyer, server, stock_read, token, session, waited_ms) "
                                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
    insert.bind(1, order.buyer);
    insert.bind(2, order.server);
    insert.bind(3, std::int64_t{order.stock_read});
    insert.bind(4, order.token);
    insert.bind(5, order.session);
    insert.bind(6, order.waited_ms);
    insert.step();
    return sqlite3_last_insert_rowid(handle_.get());
}

void database::insert_stale_write(const order_row& order)
{
    statement insert(handle_.get(), "INSERT INTO stale_writes (buyer, server, token) VALUES (?1, ?2, ?3)");
    insert.bind(1, order.buyer);
    insert.bind(2, order.server);
    insert.bind(3, order.token);
    insert.step();
}

std::vector<order_row> database::orders()
{
    return last_orders(-1);
}

std::vector<order_row> database::last_orders(int at_most)
{
    statement query(handle_.get(),
                    "SELECT * FROM (SELECT id, buyer, server, stock_read, token, session, waited_ms FROM orders "
                    "ORDER BY id DESC LIMIT ?1) ORDER BY id");
    query.bind(1, std::int64_t{at_most});
    std::vector<order_row> rows;
    while (query.step()) {
        order_row row;
        row.id = query.integer(0);
        row.buyer = query.text(1);
        row.server = query.text(2);
        row.stock_read = static_cast<int>(query.integer(3));
        if (!query.null(4)) {
            row.token = query.integer(4);
        }
        if (!query.null(5)) {
            row.session = query.integer(5);
        }
        row.waited_ms = query.real(6);
        rows.push_back(std::move(row));
    }
    return rows;
}

int database::stale_writes()
{
    return read_int("SELECT count(*) FROM stale_writes");
}

void database::open_server(const server_row& server)
{
    statement insert(handle_.get(), "INSERT OR REPLACE INTO servers (name, address) VALUES (?1, ?2)");
    insert.bind(1, server.name);
    insert.bind(2, server.address);
    insert.step();
}

void database::close_server(const std::string& name)
{
    statement remove(handle_.get(), "DELETE FROM servers WHERE name = ?1");
    remove.bind(1, name);
    remove.step();
}

std::vector<server_row> database::servers()
{
    statement query(handle_.get(), "SELECT name, address FROM servers ORDER BY name");
    std::vector<server_row> rows;
    while (query.step()) {
        server_row row;
        row.name = query.text(0);
        row.address = query.text(1);
        rows.push_back(std::move(row));
    }
    return rows;
}

std::int64_t database::begin_rush(bool with_lock, int buyers, int units)
{
    transaction all(handle_.get(), "IMMEDIATE");
    statement(handle_.get(), "DELETE FROM orders").step();
    write_units(units);
    {
        statement insert(handle_.get(), "INSERT INTO rushes (with_lock, buyers, units) VALUES (?1, ?2, ?3)");
        insert.bind(1, std::int64_t{with_lock});
        insert.bind(2, std::int64_t{buyers});
        insert.bind(3, std::int64_t{units});
        insert.step();
    }
    auto id = sqlite3_last_insert_rowid(handle_.get());
    all.commit();
    return id;
}

std::int64_t database::last_rush()
{
    return read_int("SELECT coalesce(max(id), 0) FROM rushes");
}

void database::end_rush(std::int64_t id, int unanswered)
{
    statement update(handle_.get(), "UPDATE rushes SET sold = (SELECT count(*) FROM orders), "
                                    "left_over = (SELECT units FROM stock WHERE id = 1), unanswered = ?2 "
                                    "WHERE id = ?1");
    update.bind(1, id);
    update.bind(2, std::int64_t{unanswered});
    update.step();
}

shop_view database::look(int orders_at_most)
{
    transaction all(handle_.get(), "DEFERRED");
    shop_view view;
    view.units = units();
    view.sold = read_int("SELECT count(*) FROM orders");
    view.orders = last_orders(orders_at_most);
    view.rush = find_rush("1");
    view.ended_with_lock = find_rush("sold IS NOT NULL AND with_lock");
    view.ended_without_lock = find_rush("sold IS NOT NULL AND NOT with_lock");
    all.commit();
    return view;
}

std::optional<rush_row> database::find_rush(const char* condition)
{
    std::string sql = "SELECT id, with_lock, buyers, units, sold, left_over, unanswered FROM rushes WHERE ";
    sql += condition;
    sql += " ORDER BY id DESC LIMIT 1";
    statement query(handle_.get(), sql.c_str());
    if (!query.step()) {
        return std::nullopt;
    }
    auto number = [&](int column) { return static_cast<int>(query.integer(column)); };
    rush_row row;
    row.id = query.integer(0);
    row.with_lock = query.integer(1) != 0;
    row.buyers = number(2);
    row.units = number(3);
    if (!query.null(4)) {
        rush_row::result ended;
        ended.sold = number(4);
        ended.left_over = number(5);
        ended.unanswered = number(6);
        row.ended = ended;
    }
    return row;
}

int database::read_int(const char* sql)
{
    statement query(handle_.get(), sql);
    if (!query.step()) {
        throw std::runtime_error(std::string(sql) + ": no row");
    }
    return static_cast<int>(query.integer(0));
}

} // namespace demo

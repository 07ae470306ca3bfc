#include "sale_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

namespace demo {

namespace {

constexpr std::size_t names_per_line = 15;
constexpr std::size_t rows_at_most = 60; ///< of a table; the middle is left out beyond that

std::string sessions(std::size_t count)
{
    return count == 1 ? "1 session" : fmt::format("{} sessions", count);
}

void print_view(const queue_view& view)
{
    fmt::print("    {:>6.0f} ms  {:>4} in line, of {}:", view.at_ms, view.buyers.size(), sessions(view.sessions));
    auto shown = std::min(view.buyers.size(), names_per_line);
    for (std::size_t i = 0; i < shown; ++i) {
        fmt::print(" {}{}{}", i == 0 ? "[" : "", view.buyers[i], i == 0 ? "]" : "");
    }
    if (shown < view.buyers.size()) {
        fmt::print(" ... and {} more", view.buyers.size() - shown);
    }
    fmt::print("\n");
}

/// First those who had the lock, by token; then the orders taken without it, by number; then the rest by name.
auto rank(const purchase& p)
{
    constexpr auto last = std::numeric_limits<std::int64_t>::max();
    return std::make_tuple(p.token ? p.token : last, p.order ? p.order : last, p.buyer);
}

void print_row(std::size_t place, const purchase& p, bool locked, int buyer_width)
{
    std::string outcome = p.sold ? fmt::format("sold, stock {} -> {}", p.stock_read, p.stock_written) : p.outcome;
    if (locked) {
        if (p.token) {
            fmt::print("    {:>5}  {:<{}}  {:<6}  {:>19}  {:>6.0f} ms  {:>5.1f} ms  {}\n", place, p.buyer, buyer_width,
                       p.server, p.token, p.waited_ms, p.held_ms, outcome);
        } else {
            fmt::print("    {:>5}  {:<{}}  {:<6}  {:>19}  {:>9}  {:>8}  {}\n", "-", p.buyer, buyer_width, p.server, "-",
                       "-", "-", outcome);
        }
    } else if (p.order) {
        fmt::print("    {:>5}  {:<{}}  {:<6}  {}\n", p.order, p.buyer, buyer_width, p.server, outcome);
    } else {
        fmt::print("    {:>5}  {:<{}}  {:<6}  {}\n", "-", p.buyer, buyer_width, p.server, outcome);
    }
}

} // namespace

void print_queue(const std::vector<queue_view>& views)
{
    auto longest = std::max_element(views.begin(), views.end(), [](const queue_view& a, const queue_view& b) {
        return a.buyers.size() < b.buyers.size();
    });
    if (longest == views.end() || longest->buyers.empty()) {
        return;
    }
    auto end = std::find_if(longest, views.end(), [](const queue_view& v) { return v.buyers.empty(); });
    fmt::print("  The queue, as read from ZooKeeper during the sale (the holder in brackets):\n");
    constexpr std::ptrdiff_t lines = 4;
    auto length = end - longest;
    for (std::ptrdiff_t line = 0; line < std::min(lines, length); ++line) {
        print_view(*(longest + line * length / std::min(lines, length)));
    }
    fmt::print("\n");
}

bool print_purchases(std::vector<purchase> purchases)
{
    std::sort(purchases.begin(), purchases.end(),
              [](const purchase& a, const purchase& b) { return rank(a) < rank(b); });
    bool locked = std::any_of(purchases.begin(), purchases.end(), [](const purchase& p) { return p.token != 0; });
    std::size_t widest = 5;
    for (const purchase& p : purchases) {
        widest = std::max(widest, p.buyer.size());
    }
    int buyer_width = static_cast<int>(widest);

    if (locked) {
        fmt::print("    {:>5}  {:<{}}  {:<6}  {:>19}  {:>9}  {:>8}  {}\n", "grant", "buyer", buyer_width, "server",
                   "fencing token", "waited", "held", "order");
    } else {
        fmt::print("    {:>5}  {:<{}}  {:<6}  {}\n", "order", "buyer", buyer_width, "server", "outcome");
    }
    auto left_out = purchases.size() > rows_at_most ? purchases.size() - rows_at_most : 0;
    for (std::size_t i = 0; i < purchases.size(); ++i) {
        if (left_out && i == rows_at_most / 2) {
            fmt::print("    {:>5}  {} more\n", "...", left_out);
            i += left_out;
        }
        print_row(i + 1, purchases[i], locked, buyer_width);
    }

    auto sold = std::count_if(purchases.begin(), purchases.end(), [](const purchase& p) { return p.sold; });
    auto unanswered = std::count_if(purchases.begin(), purchases.end(), [](const purchase& p) { return !p.answered; });
    fmt::print("\n  {} buyers: {} sold, {} refused", purchases.size(), sold,
               static_cast<std::ptrdiff_t>(purchases.size()) - sold - unanswered);
    std::set<std::int64_t> held_by;
    for (const purchase& p : purchases) {
        if (p.session) {
            held_by.insert(p.session);
        }
    }
    if (!held_by.empty()) {
        fmt::print(", in {}", sessions(held_by.size()));
    }
    if (unanswered) {
        fmt::print(", {} WITHOUT AN ANSWER", unanswered);
    }
    fmt::print("\n");
    return unanswered == 0;
}

} // namespace demo

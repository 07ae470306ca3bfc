#include "tool/program/caught_signals.hpp"
#include "tool/program/client_program.hpp"
#include "tool/program/exit_status.hpp"
#include "tool/program/mailbox.hpp"
#include "tool/queue/queue_commands.hpp"
#include "tool/queue/queue_listing.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace zklock::tool {
namespace {

namespace asio = boost::asio;

const char* const clear_screen = "\033[H\033[2J\033[3J";
const char* const other_screen = "\033[?1049h\033[?25l"; ///< and no cursor
const char* const usual_screen = "\033[?25h\033[?1049l";

/// What is to be drawn anew, or printed.
struct change {
    change() = default; ///< time has passed
    change(std::size_t which, result<queue_listing> seen) : path(which), listing(std::move(seen)) {}
    explicit change(int the_signal) : caught(the_signal) {}

    std::size_t path = 0;
    std::optional<result<queue_listing>> listing;
    int caught = 0;
};

using changes = std::shared_ptr<mailbox<change>>;
/// Between two looks at a queue.
class rest {
public:
    explicit rest(const asio::any_io_executor& executor) : timer_(executor) {}

    /// Gives false at once after end().
    asio::awaitable<bool> take(asio::steady_timer::duration time)
    {
        timer_.expires_after(time);
        if (!ended_)
            co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
        co_return !ended_;
    }
    /// Ends this one, and all later ones: somebody who looks at the queue just now does not rest afterwards.
    void end()
    {
        ended_ = true;
        timer_.cancel();
    }

private:
    asio::steady_timer timer_;
    bool ended_ = false;
};

/// A queue that changes all the time, and is long, is not to keep its servers busy with those who look at it.
asio::steady_timer::duration rest_after(asio::steady_timer::duration look)
{
    using namespace std::chrono_literals;
    return std::clamp<asio::steady_timer::duration>(5 * look, 100ms, 5s);
}

/// Until something has come to be at the path, or a child of it has come or gone.
asio::awaitable<void> wait_for_change(client zk, std::string path, std::optional<node_stat> seen)
{
    if (seen) {
        auto waiting = zk.wait_children_changed(std::move(path), *seen);
        static_cast<void>(co_await std::move(waiting)); // the next look finds what an error means
    } else {
        auto waiting = zk.wait_created(std::move(path));
        static_cast<void>(co_await std::move(waiting));
    }
}

/// Reads a queue again and again: after each change of its nodes. Ends with an error, such as that of a client that
/// closes.
asio::awaitable<void> follow(client zk, std::string path, std::size_t which, changes to, std::shared_ptr<rest> between)
{
    using namespace asio::experimental::awaitable_operators;
    for (;;) {
        const auto began = std::chrono::steady_clock::now();
        // Looked at first: what changes while the queue is read ends the wait below. A semaphore has its nodes deeper.
        std::vector<std::optional<node_stat>> seen;
        const std::vector<std::string> watched{path, path + "/leases", path + "/locks"};
        for (const std::string& each : watched) {
            auto looking = zk.exists(each);
            result<std::optional<node_stat>> stat = co_await std::move(looking);
            if (stat.has_error())
                co_return to->put(change(which, stat.error()));
            seen.push_back(stat.value());
        }
        auto reading = list_queue(zk, path);
        result<queue_listing> listing = co_await std::move(reading);
        if (listing.has_error())
            co_return to->put(change(which, std::move(listing)));
        const bool semaphore = listing.value().semaphore;
        to->put(change(which, std::move(listing)));
        auto resting = between->take(rest_after(std::chrono::steady_clock::now() - began));
        const bool rested = co_await std::move(resting);
        if (!rested)
            co_return;
        if (semaphore) {
            auto any = wait_for_change(zk, watched[0], seen[0]) || wait_for_change(zk, watched[1], seen[1]) ||
                       wait_for_change(zk, watched[2], seen[2]);
            co_await std::move(any);
        } else {
            auto changed = wait_for_change(zk, watched[0], seen[0]);
            co_await std::move(changed);
        }
    }
}

/// The lines that a terminal of that size has room for, cut where they would wrap.
std::string cut_to(const std::string& text, std::size_t rows, std::size_t columns)
{
    std::string made;
    std::size_t row = 0;
    const auto all = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line); ++row) {
        if (row + 1 == rows && row + 1 < all)
            return made + fmt::format("({} more lines)", all - row);
        std::size_t end = 0;
        for (std::size_t column = 0; end < line.size(); ++end) // a character of UTF-8 has one byte that is not of these
            if ((static_cast<unsigned char>(line[end]) & 0xC0U) != 0x80 && column++ == columns)
                break;
        made += line.substr(0, end) + (row + 1 == rows ? "" : "\n"); // the last would scroll
    }
    return made;
}

class screen {
public:
    explicit screen(bool json) : json_(json), redraws_(!json && ::isatty(STDOUT_FILENO) == 1)
    {
        if (redraws_)
            static_cast<void>(write(other_screen)); // draw() tells whether there is anybody to see it
    }
    ~screen()
    {
        if (redraws_)
            static_cast<void>(write(usual_screen));
    }
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;

    [[nodiscard]] bool redraws() const { return redraws_; }

    // Each gives false if it cannot be written.
    /// One queue has changed, of all that are known.
    [[nodiscard]] bool changed(const queue_listing& one, const std::vector<std::optional<queue_listing>>& all)
    {
        const auto now = std::chrono::system_clock::now();
        if (redraws_)
            return draw(all);
        return write(json_ ? json_line(to_json(one, now)) : to_text(one, now) + '\n');
    }

    [[nodiscard]] bool draw(const std::vector<std::optional<queue_listing>>& all)
    {
        const auto now = std::chrono::system_clock::now();
        std::string text;
        if (!trouble_.empty())
            text = trouble_ + "\n\n";
        for (const auto& each : all)
            if (each)
                text += to_text(*each, now) + '\n';
        winsize size{};
        const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 && size.ws_row != 0;
        return write(clear_screen + (known ? cut_to(text, size.ws_row, size.ws_col) : text));
    }

    /// What stands above the queues when it is drawn; may be empty.
    void set_trouble(std::string text) { trouble_ = std::move(text); }

private:
    [[nodiscard]] static bool write(const std::string& text)
    {
        return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    }

    const bool json_;
    const bool redraws_;
    std::string trouble_;
};

/// Tells of a connection that is lost: what is shown is as it was then.
class connection_watch {
public:
    connection_watch(client zk, std::string servers, voice& out)
        : zk_(std::move(zk)), servers_(std::move(servers)), out_(out)
    {
    }

    void look(screen& shown)
    {
        const auto now = std::chrono::steady_clock::now();
        const bool connected = zk_.state() == connection_state::connected;
        if (connected == !cut_off_since_) { // as at the last look
            if (cut_off_since_)
                shown.set_trouble(in_words(now));
            return;
        }
        if (connected)
            cut_off_since_.reset();
        else
            cut_off_since_ = now;
        shown.set_trouble(connected ? std::string() : in_words(now));
        if (shown.redraws())
            return;
        out_.warn(connected ? "reconnected" : "disconnected", {{"servers", servers_}},
                  connected ? "connected to " + printable(servers_) + " again"
                            : "no connection to " + printable(servers_));
    }

private:
    [[nodiscard]] std::string in_words(std::chrono::steady_clock::time_point now) const
    {
        return fmt::format("No connection to {} for {} s: this is how it was before.", printable(servers_),
                           std::chrono::duration_cast<std::chrono::seconds>(now - *cut_off_since_).count());
    }

    client zk_;
    const std::string servers_;
    voice& out_;
    std::optional<std::chrono::steady_clock::time_point> cut_off_since_;
};

asio::awaitable<int> show(changes from, std::size_t paths, bool json, voice& out, asio::steady_timer& clock,
                          connection_watch connection)
{
    std::vector<std::optional<queue_listing>> all(paths);
    screen shown(json);
    const std::function<void()> tick = [&] {
        clock.expires_after(std::chrono::seconds(1)); // ages grow
        clock.async_wait([from](error_code error) {
            if (!error)
                from->put(change());
        });
    };
    tick();
    for (bool written = true; written;) {
        change next = co_await from->take();
        if (next.caught != 0) {
            if (ends_the_tool(next.caught))
                co_return succeeded; // there is no other way to end it
        } else if (!next.listing) {
            connection.look(shown);
            if (shown.redraws())
                written = shown.draw(all);
            tick();
        } else if (next.listing->has_error()) {
            co_return tell_failed(out, "the queue cannot be read", next.listing->error());
        } else {
            all[next.path] = std::move(*next.listing).value();
            written = shown.changed(*all[next.path], all);
        }
    }
    if (errno == EPIPE || errno == EINTR) // its reader, such as head(1), has read enough; or a signal came meanwhile
        co_return succeeded;
    co_return tell_failed(out, "the queue cannot be shown", error_code(errno, boost::system::generic_category()));
}

asio::awaitable<int> watch_all(client zk, std::vector<std::string> paths, const connection_arguments& given, voice& out)
{
    const auto executor = co_await asio::this_coro::executor;
    const auto news = std::make_shared<mailbox<change>>(executor);
    std::vector<std::shared_ptr<rest>> rests;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        rests.push_back(std::make_shared<rest>(executor));
        asio::co_spawn(executor, follow(zk, paths[i], i, news, rests.back()), [](std::exception_ptr error) {
            if (error)
                std::rethrow_exception(error);
        });
    }
    caught_signals signals(static_cast<asio::io_context&>(executor.context()),
                           [news](int number) { news->put(change(number)); });
    asio::steady_timer clock(executor);
    auto showing = show(news, paths.size(), given.json, out, clock, connection_watch(zk, given.servers, out));
    const int status = co_await std::move(showing);
    clock.cancel();
    for (const auto& each : rests)
        each->end();
    signals.end();
    co_return status; // the client is closed, which ends those who follow
}

} // namespace

int watch(const connection_arguments& connection, const std::vector<std::string>& paths)
{
    for (const std::string& path : paths)
        check_path(path);
    voice out(false, connection.json);
    return run_with_client(connection, out, [&](client zk) { return watch_all(zk, paths, connection, out); });
}

} // namespace zklock::tool

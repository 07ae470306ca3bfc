#include "chaos/worker.hpp"

#include "chaos/as_tuple.hpp"
#include "chaos/event_file.hpp"
#include "zklock/zklock.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

namespace zklock::chaos {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using std::chrono::milliseconds;

std::string name_of(const error_code& ec)
{
    if (!ec)
        return "ok";
    if (ec == asio::error::operation_aborted)
        return "aborted";
    if (ec == errc::timed_out)
        return "timed_out";
    if (ec == errc::busy)
        return "busy";
    if (ec == errc::lost)
        return "lost";
    if (ec == errc::not_connected)
        return "not_connected";
    std::string text = ec.message();
    std::replace(text.begin(), text.end(), ' ', '_');
    return text;
}

class worker {
public:
    explicit worker(const worker_options& options)
        : options_(options), random_(options.seed), client_(context_, options_of_client()),
          signals_(context_, SIGTERM, SIGUSR1, SIGUSR2), contender_ended_(context_), events_(options.events)
    {
        signals_.add(SIGHUP);
    }

    void run()
    {
        wait_for_signal();
        asio::co_spawn(context_, live(), [](std::exception_ptr e) {
            if (e)
                std::rethrow_exception(e);
        });
        context_.run();
    }

private:
    using local = asio::local::stream_protocol;

    [[nodiscard]] client_options options_of_client() const
    {
        client_options o;
        o.servers = options_.servers;
        o.session_timeout = milliseconds(options_.session_timeout);
        o.server_tick = milliseconds(options_.server_tick);
        o.connect_backoff = milliseconds(20);
        o.connect_backoff_limit = milliseconds(300);
        return o;
    }

    void wait_for_signal()
    {
        signals_.async_wait([this](error_code ec, int number) {
            if (ec)
                return;
            stopping_ = stopping_ || number == SIGTERM;
            if (number == SIGUSR1)
                holding_on_ = true;
            if (number == SIGHUP)
                writes_until_stop_ = between(1, 3);
            if (number == SIGTERM || number == SIGUSR2) {
                holding_on_ = false;
                writes_until_stop_ = 0;
            }
            wait_for_signal();
        });
    }

    [[nodiscard]] unsigned between(unsigned least, unsigned most)
    {
        return std::uniform_int_distribution(least, most)(random_);
    }
    awaitable<void> pass(milliseconds time)
    {
        asio::steady_timer timer(context_, time);
        co_await timer.async_wait(as_tuple);
    }

    awaitable<void> live()
    {
        for (running_ = 0; running_ < options_.contenders; ++running_)
            asio::co_spawn(context_, contend(), [this](std::exception_ptr e) {
                if (e)
                    std::rethrow_exception(e);
                --running_;
                contender_ended_.cancel();
            });
        while (running_ != 0) {
            contender_ended_.expires_at(asio::steady_timer::time_point::max());
            co_await contender_ended_.async_wait(as_tuple);
        }
        local::socket writing(context_);
        co_await connect(writing);
        for (unsigned i = 0; i < options_.paths; ++i) {
            const std::string path = path_of(i);
            co_await turn(path, "unlimited", writing);
        }
        const auto [ec] = co_await client_.close(as_tuple);
        if (ec)
            throw std::runtime_error("close: " + ec.message());
        events_.note("closed", 0, now());
        signals_.cancel();
    }

    awaitable<void> connect(local::socket& writing)
    {
        const local::endpoint endpoint(options_.resource);
        co_await writing.async_connect(endpoint, asio::use_awaitable);
    }

    awaitable<void> contend()
    {
        local::socket writing(context_);
        co_await connect(writing);
        static constexpr const char* modes[] = {
            "timed", "timed", "timed", "unlimited", "unlimited", "try", "cancelled"};
        while (!stopping_) {
            const std::string_view mode = modes[between(0, std::size(modes) - 1)];
            const std::string path = path_of(between(0, options_.paths - 1));
            co_await turn(path, mode, writing);
            co_await pass(milliseconds(between(0, 60)));
        }
    }

    /// One operation: acquire, hold, release.
    awaitable<void> turn(const std::string& path, std::string_view mode, local::socket& writing)
    {
        const unsigned operation = ++last_operation_;
        mutex lock(client_, path);
        const milliseconds limit(between(1, 2500));
        const auto started = now();
        events_.note("start", operation, started, mode, in_nanoseconds(limit), path);
        std::tuple<error_code, guard> ended;
        if (mode == "timed") {
            ended = co_await lock.acquire(limit, as_tuple);
        } else if (mode == "try") {
            ended = co_await lock.try_acquire(as_tuple);
        } else if (mode == "unlimited") {
            ended = co_await lock.acquire(as_tuple);
        } else {
            const auto cancel = std::make_shared<asio::cancellation_signal>();
            asio::steady_timer timer(context_, limit);
            timer.async_wait([this, cancel, operation](error_code ec) {
                if (ec || !cancel->slot().has_handler())
                    return;
                events_.note("cancel", operation, now());
                cancel->emit(asio::cancellation_type::terminal);
            });
            auto cancellable = asio::bind_cancellation_slot(cancel->slot(), as_tuple);
            ended = co_await lock.acquire(std::move(cancellable));
            cancel->slot().clear();
        }
        const auto at = now();
        guard held = std::move(std::get<guard>(ended));
        const error_code ec = std::get<error_code>(ended);
        const bool is_held = static_cast<bool>(held);
        events_.note("end", operation, at, ec ? name_of(ec) : "granted", held.fencing_token(), is_held);
        if (!ec)
            co_await hold(operation, path, std::move(held), writing);
    }

    awaitable<void> hold(unsigned operation, const std::string& path, guard held, local::socket& writing)
    {
        held.wait_lost(
            [this, operation](error_code ec) { events_.note("told", operation, now(), ec ? name_of(ec) : "lost"); });
        const auto token = held.fencing_token();
        const auto longest = in_nanoseconds(milliseconds(between(0, 9) == 0 ? between(200, 2500) : between(0, 120)));
        const auto begun = now();
        instant believed = begun, lease_end = begun;
        bool lost = false;
        for (;;) {
            const auto looked_at = now();
            const auto until = in_nanoseconds(held.held_until().time_since_epoch());
            if (!held) {
                lost = true;
                believed = std::max(believed, std::min(looked_at, lease_end));
                break;
            }
            believed = looked_at;
            lease_end = until;
            if (!holding_on_ && looked_at - begun >= longest)
                break;
            co_await write(operation, path, token, looked_at, writing);
            co_await pass(milliseconds(between(1, 25)));
        }
        events_.note("believed", operation, believed, lost);
        if (between(0, 3) == 0) { // whoever drops a guard is not told when the node is gone
            held = guard();
            events_.note("released", operation, now(), "dropped");
        } else {
            const auto [ec] = co_await std::move(held).release(as_tuple);
            events_.note("released", operation, now(), name_of(ec));
        }
    }

    awaitable<void> write(unsigned operation, const std::string& path, std::int64_t token, instant sent,
                          local::socket& writing)
    {
        const bool stops = writes_until_stop_ != 0 && --writes_until_stop_ == 0;
        if (stops) {
            events_.note("stop", operation, now(), path, token);
            ::raise(SIGSTOP); // somebody else lets it go on
        }
        std::ostringstream request;
        request << options_.process << ' ' << operation << ' ' << path << ' ' << token << ' ' << sent << ' ' << stops
                << '\n';
        const std::string text = std::move(request).str();
        co_await asio::async_write(writing, asio::buffer(text), asio::use_awaitable);
        char answer[2];
        co_await asio::async_read(writing, asio::buffer(answer), asio::use_awaitable);
    }

    worker_options options_;
    std::mt19937_64 random_;
    asio::io_context context_;
    client client_;
    asio::signal_set signals_;
    asio::steady_timer contender_ended_;
    event_file events_;
    unsigned last_operation_ = 0;
    unsigned running_ = 0;
    bool stopping_ = false;
    bool holding_on_ = false;
    unsigned writes_until_stop_ = 0; ///< 0: it does not stop
};

} // namespace

std::string path_of(unsigned number)
{
    return "/chaos/" + std::to_string(number);
}

int run_worker(const worker_options& options)
{
    worker w(options);
    w.run();
    return 0;
}

} // namespace zklock::chaos

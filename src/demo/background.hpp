#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace demo {

namespace asio = boost::asio;

/// Errors come as values.
inline constexpr auto awaitable_tuple = asio::as_tuple(asio::use_awaitable);

/// Wakes the coroutines that wait for it. Nothing is remembered: whoever waits looks before and afterwards at what it
/// waits for. For one thread, like all of the demonstration.
class bell {
public:
    explicit bell(asio::any_io_executor executor);

    void ring() { silence_.cancel(); }

    /// Waits for the next ring. Cancelled, it ends as if it had rung.
    asio::awaitable<void> wait();

private:
    asio::steady_timer silence_;
};

/// A pause that may be cut short. For one coroutine at a time.
class nap {
public:
    explicit nap(asio::any_io_executor executor) : timer_(std::move(executor)) {}

    asio::awaitable<void> rest(std::chrono::steady_clock::duration);
    void end() { timer_.cancel(); }

private:
    asio::steady_timer timer_;
};

/// Coroutines that run beside the others, and that somebody waits for in the end.
class background {
public:
    explicit background(asio::any_io_executor executor) : executor_(executor), ended_(std::move(executor)) {}
    background(const background&) = delete;
    background& operator=(const background&) = delete;

    /// What it throws is told on stderr after that name, and ends nothing else.
    void start(asio::awaitable<void>, std::string name);

    /// Waits until none runs. This object, and what they refer to, has to live until then.
    asio::awaitable<void> ended();

private:
    asio::any_io_executor executor_;
    bell ended_;
    std::size_t running_ = 0;
};

} // namespace demo

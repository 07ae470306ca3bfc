#include "background.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/core/ignore_unused.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <utility>

namespace demo {

namespace {

void report(const std::string& name, std::exception_ptr error)
{
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        fmt::print(stderr, "{}: {}\n", name, e.what());
    }
}

} // namespace

bell::bell(asio::any_io_executor executor) : silence_(std::move(executor), asio::steady_timer::time_point::max()) {}

asio::awaitable<void> bell::wait()
{
    auto [rung] = co_await silence_.async_wait(awaitable_tuple);
    boost::ignore_unused(rung);
}

asio::awaitable<void> nap::rest(std::chrono::steady_clock::duration time)
{
    timer_.expires_after(time);
    auto [woken] = co_await timer_.async_wait(awaitable_tuple);
    boost::ignore_unused(woken);
}

void background::start(asio::awaitable<void> work, std::string name)
{
    auto over = [this, name = std::move(name)](std::exception_ptr error) {
        if (error) {
            report(name, error);
        }
        --running_;
        ended_.ring();
    };
    ++running_;
    asio::co_spawn(executor_, std::move(work), std::move(over));
}

asio::awaitable<void> background::ended()
{
    while (running_ > 0) {
        co_await ended_.wait();
    }
}

} // namespace demo

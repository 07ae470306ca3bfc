#include "support/run_test.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace zklock::test {

namespace asio = boost::asio;

void run_test_on_threads(std::size_t threads, milliseconds limit, const std::function<asio::awaitable<void>()>& body,
                         std::source_location where)
{
    std::exception_ptr error;
    std::atomic<bool> ended = false;
    asio::io_context context;
    const auto at_end = [&](std::exception_ptr e) {
        error = e;
        ended = true;
        if (e)
            context.stop(); // what it left pending need not be waited for
    };
    asio::co_spawn(context, body(), at_end);

    // What a handler throws ends the test too.
    std::vector<std::exception_ptr> thrown(threads);
    const auto run = [&](std::size_t i) {
        try {
            context.run_until(std::chrono::steady_clock::now() + limit);
        } catch (...) {
            thrown[i] = std::current_exception();
            context.stop();
        }
    };
    std::vector<std::thread> helpers;
    for (std::size_t i = 1; i < threads; ++i)
        helpers.emplace_back(run, i);
    run(0);
    for (auto& helper : helpers)
        helper.join();

    for (const auto& e : thrown)
        if (e)
            std::rethrow_exception(e);
    if (error)
        std::rethrow_exception(error);
    if (context.stopped() && ended)
        return;
    throw std::runtime_error(
        std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": after " +
        std::to_string(limit.count()) + " ms " +
        (ended ? "the coroutine had ended, but something was still pending" : "the coroutine had not ended"));
}

void run_test(milliseconds limit, const std::function<asio::awaitable<void>()>& body, std::source_location where)
{
    run_test_on_threads(1, limit, body, where);
}

void run_test(milliseconds limit, const std::function<asio::awaitable<void>(const asio::any_io_executor&)>& body,
              std::source_location where)
{
    const auto with_executor = [&]() -> asio::awaitable<void> {
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        co_await body(executor);
    };
    run_test(limit, with_executor, where);
}

} // namespace zklock::test

#pragma once
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <future>
#include <thread>
#include <utility>

namespace zklock::test {

/// An io_context with a thread of its own. Who has one as a member calls stop() in its destructor, so that nothing runs
/// any more while the rest of it goes.
class io_thread {
public:
    io_thread() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}
    ~io_thread() { stop(); }
    io_thread(const io_thread&) = delete;
    io_thread& operator=(const io_thread&) = delete;

    [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }

    /// Runs `f` there, and returns what it gives.
    template <class F> auto call(F f)
    {
        std::packaged_task<decltype(f())()> task(std::move(f));
        auto done = task.get_future();
        boost::asio::post(context_, std::move(task));
        return done.get();
    }

    void stop()
    {
        context_.stop();
        if (thread_.joinable())
            thread_.join();
    }

private:
    boost::asio::io_context context_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::thread thread_;
};

} // namespace zklock::test

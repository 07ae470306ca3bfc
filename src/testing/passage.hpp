#pragma once
#include "testing/memory_ensemble.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <thread>

namespace zklock::testing {

/// Time that passes: a thread that moves the clock from one thing that is due to the next, and lets the executors run
/// dry in between.
class passage {
public:
    using handler = asio::any_completion_handler<void(error_code)>;

    passage(std::shared_ptr<memory_ensemble>, std::chrono::nanoseconds, handler, asio::any_io_executor);
    ~passage(); ///< it has to be over, or the executors are not run any more
    passage(const passage&) = delete;
    passage& operator=(const passage&) = delete;

    [[nodiscard]] bool over() const;

private:
    /// What is shared with functions on executors, which may never run.
    struct shared;
    struct turn;

    void run();
    void settle();
    void run_dry();
    static void pass_again(const std::shared_ptr<memory_store>& through, std::shared_ptr<turn>, int left);
    static void pass_again(const asio::any_io_executor& through, std::shared_ptr<turn>, int left);
    [[nodiscard]] bool ended() const;

    const std::shared_ptr<memory_ensemble> servers_;
    const lease_clock::time_point until_;
    const std::shared_ptr<shared> shared_;
    std::thread thread_;
};

} // namespace zklock::testing

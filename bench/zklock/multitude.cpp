// Very many that wait for a lock somebody holds: what they cost, and how quickly they are gone.
#include "zklock/scene.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <malloc.h>
#include <unistd.h>

#include <deque>
#include <fstream>
#include <optional>

namespace zklock::bench {

namespace {

/// A line of /proc/self/status, such as Threads or VmRSS (KiB).
double process_status(const std::string& name)
{
    std::ifstream file{"/proc/self/status"};
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(name + ":"))
            return std::stod(line.substr(name.size() + 1));
    throw std::runtime_error("/proc/self/status has no " + name);
}

double allocated_bytes()
{
    const auto all = ::mallinfo2();
    return static_cast<double>(all.uordblks + all.hblkhd);
}

class multitude : public scene {
public:
    using scene::scene;

    void set_up() override
    {
        scene::set_up();
        lock_.emplace(zk(), path(), options());
        const auto hold = [this]() -> awaitable<void> { held_ = must(co_await lock_->acquire()); };
        run(hold());
    }
    void tear_down() override
    {
        const auto let_go = [this]() -> awaitable<void> { must(co_await std::move(held_).release()); };
        run(let_go());
        scene::tear_down();
    }

protected:
    [[nodiscard]] std::size_t waiters() const { return static_cast<std::size_t>(asked_.number("waiters")); }
    mutex& lock() { return *lock_; }

private:
    std::optional<mutex> lock_;
    guard held_;
};

/// Timed is each call of acquire(). Then counted, when all are queued: bytes and threads.
class memory : public multitude {
public:
    using multitude::multitude;

    report measure() override
    {
        report found;
        const auto bytes = allocated_bytes();
        const auto resident = process_status("VmRSS"), threads = process_status("Threads");
        const auto start = steady_clock::now();
        for (std::size_t i = 0; i < waiters(); ++i) {
            const auto before = steady_clock::now();
            lock().acquire([](error_code, guard) {});
            found.latencies["call"].record(steady_clock::now() - before);
        }
        found.elapsed = steady_clock::now() - start;
        run_until_idle();
        found.operations = waiters();
        const auto each = 1.0 / static_cast<double>(waiters());
        found.figures["bytes_per_waiter"] = (allocated_bytes() - bytes) * each;
        found.figures["resident_bytes_per_waiter"] = (process_status("VmRSS") - resident) * 1024 * each;
        found.figures["more_threads"] = process_status("Threads") - threads;
        return found;
    }
};

/// All are cancelled at once. Timed is each one's completion; the harness sees when the server shows none.
class cancel : public multitude {
public:
    using multitude::multitude;

    void set_up() override
    {
        multitude::set_up();
        for (std::size_t i = 0; i < waiters(); ++i)
            lock().acquire(asio::bind_cancellation_slot(signals_.emplace_back().slot(), [this](error_code, guard) {
                found_.latencies["cancel"].record(steady_clock::now() - cancelled_);
                ++found_.operations;
            }));
        run_until_idle();
    }
    report measure() override
    {
        found_.figures["started_ns"] = monotonic_ns();
        cancelled_ = steady_clock::now();
        for (auto& signal : signals_)
            signal.emit(asio::cancellation_type::terminal);
        while (found_.operations != waiters())
            run_for(std::chrono::milliseconds{1});
        found_.elapsed = steady_clock::now() - cancelled_;
        run_until_idle();
        return std::move(found_);
    }

private:
    std::deque<asio::cancellation_signal> signals_;
    steady_clock::time_point cancelled_;
    report found_;
};

} // namespace

std::unique_ptr<workload> make_multitude_workload(const request& asked)
{
    if (asked.workload == "memory")
        return std::make_unique<memory>(asked);
    if (asked.workload == "cancel")
        return std::make_unique<cancel>(asked);
    return nullptr;
}

} // namespace zklock::bench

// Many at once, on one thread: how many grants a second, and what one waits for.
#include "zklock/scene.hpp"

#include <boost/asio/steady_timer.hpp>

namespace zklock::bench {

namespace {

using namespace std::chrono_literals;

/// Coroutines that acquire and release without a pause. Measured is a stretch of time in which all of them run.
class contenders : public scene {
public:
    using scene::scene;

    report measure() override
    {
        acquires_ = {};
        cycles_ = {};
        grants_ = 0;
        const auto start = steady_clock::now();
        run_for(seconds());
        report found;
        found.elapsed = steady_clock::now() - start;
        found.operations = grants_;
        found.latencies = {{"acquire", std::move(acquires_)}, {"cycle", std::move(cycles_)}};
        return found;
    }
    void tear_down() override
    {
        stopping_ = true;
        run_until_started_end();
        scene::tear_down();
    }

protected:
    awaitable<void> contend(mutex lock)
    {
        while (!stopping_) {
            const auto start = steady_clock::now();
            guard held = must(co_await lock.acquire());
            acquires_.record(steady_clock::now() - start);
            ++grants_;
            must(co_await std::move(held).release());
            cycles_.record(steady_clock::now() - start);
        }
    }
    /// Until there were as many grants as contenders, or it takes too long.
    void warm_up(std::size_t grants)
    {
        const auto limit = steady_clock::now() + std::chrono::milliseconds{asked_.number("warm_up_ms", 3'000)};
        while (grants_ < grants && steady_clock::now() < limit)
            run_for(20ms);
    }

private:
    histogram acquires_, cycles_;
    std::size_t grants_ = 0;
    bool stopping_ = false;
};

/// All on one path.
class crowd : public contenders {
public:
    using contenders::contenders;

    void set_up() override
    {
        scene::set_up();
        const mutex lock{zk(), path(), options()};
        const auto waiters = static_cast<std::size_t>(asked_.number("waiters"));
        for (std::size_t i = 0; i < waiters; ++i)
            start(contend(lock));
        warm_up(waiters);
    }
};

/// Each on a path of its own.
class independent : public contenders {
public:
    using contenders::contenders;

    void set_up() override
    {
        scene::set_up();
        const auto paths = static_cast<std::size_t>(asked_.number("paths"));
        for (std::size_t i = 0; i < paths; ++i)
            start(contend(mutex{zk(), path() + "/" + std::to_string(i), options()}));
        warm_up(paths);
    }
};

/// Arrivals by the clock, whatever became of those before; timed from the moment they were due.
class arrivals : public scene {
public:
    using scene::scene;

    void set_up() override
    {
        scene::set_up();
        for (std::int64_t i = 0; i < asked_.number("paths"); ++i)
            locks_.emplace_back(zk(), path() + "/" + std::to_string(i), options());
        run(arrive(200ms));
        found_ = {};
    }
    report measure() override
    {
        const auto start = steady_clock::now();
        run(arrive(seconds()));
        found_.elapsed = steady_clock::now() - start;
        return std::move(found_);
    }

private:
    awaitable<void> arrive(std::chrono::milliseconds time)
    {
        const auto interval = std::chrono::nanoseconds{1s} / asked_.number("arrivals_per_s");
        asio::steady_timer timer{io_};
        const auto start = steady_clock::now();
        for (std::int64_t i = 0; i * interval < time; ++i) {
            const auto due = start + i * interval;
            if (due > steady_clock::now()) {
                timer.expires_at(due);
                co_await timer.async_wait(asio::use_awaitable);
            }
            serve(locks_[static_cast<std::size_t>(i) % locks_.size()], due);
        }
        while (in_service_ != 0) {
            timer.expires_after(1ms);
            co_await timer.async_wait(asio::use_awaitable);
        }
    }
    void serve(mutex& lock, steady_clock::time_point due)
    {
        ++in_service_;
        lock.acquire([this, due](error_code ec, guard held) {
            if (ec)
                throw boost::system::system_error(ec);
            found_.latencies["acquire"].record(steady_clock::now() - due);
            ++found_.operations;
            std::move(held).release([this](error_code) { --in_service_; });
        });
    }

    std::vector<mutex> locks_;
    std::size_t in_service_ = 0;
    report found_;
};

} // namespace

std::unique_ptr<workload> make_rate_workload(const request& asked)
{
    if (asked.workload == "crowd")
        return std::make_unique<crowd>(asked);
    if (asked.workload == "independent")
        return std::make_unique<independent>(asked);
    if (asked.workload == "arrivals")
        return std::make_unique<arrivals>(asked);
    return nullptr;
}

} // namespace zklock::bench

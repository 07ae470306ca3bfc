// One waiter at a time: what an acquire, a release and a hand-off take.
#include "zklock/scene.hpp"

#include <boost/asio/steady_timer.hpp>

#include <optional>

namespace zklock::bench {

namespace {

/// One path, one client: acquire, then the awaited release, and again.
class uncontended : public scene {
public:
    using scene::scene;

    void set_up() override
    {
        scene::set_up();
        lock_.emplace(zk(), path(), options());
        report warm_up;
        run(cycles(warm_up, std::chrono::milliseconds{100}));
    }
    report measure() override
    {
        report found;
        run(cycles(found, seconds()));
        return found;
    }

private:
    awaitable<void> cycles(report& to, std::chrono::milliseconds time)
    {
        auto& acquires = to.latencies["acquire"];
        auto& cycles = to.latencies["cycle"];
        const auto start = steady_clock::now();
        for (auto now = start; now - start < time; ++to.operations) {
            guard held = must(co_await lock_->acquire());
            acquires.record(steady_clock::now() - now);
            must(co_await std::move(held).release());
            const auto end = steady_clock::now();
            cycles.record(end - now);
            to.elapsed = end - start;
            now = end;
        }
    }

    std::optional<mutex> lock_;
};

/// Each path, which exists, is locked for the first time by this client.
class first : public scene {
public:
    using scene::scene;

    report measure() override
    {
        report found;
        run(visit(found));
        return found;
    }

private:
    awaitable<void> visit(report& to)
    {
        auto& acquires = to.latencies["first"];
        for (std::int64_t i = 0; i < asked_.number("paths"); ++i, ++to.operations) {
            mutex lock{zk(), path() + "/" + std::to_string(i), options()};
            const auto start = steady_clock::now();
            guard held = must(co_await lock.acquire());
            const auto took = steady_clock::now() - start;
            acquires.record(took);
            to.elapsed += took;
            must(co_await std::move(held).release());
        }
    }
};

/// Several sessions want one lock all the time. From the call of a release to the next holder's grant.
class handoff : public scene {
public:
    using scene::scene;

    void set_up() override
    {
        scene::set_up();
        for (std::size_t i = 0; i < sessions(); ++i)
            start(contend(i));
        run_for(std::chrono::milliseconds{100});
    }
    report measure() override
    {
        found_ = {};
        const auto start = steady_clock::now();
        run_for(seconds());
        found_.elapsed = steady_clock::now() - start;
        return std::move(found_);
    }
    void tear_down() override
    {
        stopping_ = true;
        run_until_started_end();
        scene::tear_down();
    }

protected:
    [[nodiscard]] std::size_t sessions() const override { return static_cast<std::size_t>(asked_.number("sessions")); }

private:
    awaitable<void> contend(std::size_t self)
    {
        const std::chrono::microseconds hold{asked_.number("hold_us")};
        mutex lock{zk(self), path(), options()};
        asio::steady_timer timer{io_};
        while (!stopping_) {
            guard held = must(co_await lock.acquire());
            if (last_holder_ != self) {
                found_.latencies["handoff"].record(steady_clock::now() - released_);
                ++found_.operations;
            }
            if (hold.count() != 0) {
                timer.expires_after(hold);
                co_await timer.async_wait(asio::use_awaitable);
            }
            last_holder_ = self;
            released_ = steady_clock::now();
            must(co_await std::move(held).release());
        }
    }

    report found_;
    bool stopping_ = false;
    std::size_t last_holder_ = 0;
    steady_clock::time_point released_ = steady_clock::now();
};

} // namespace

std::unique_ptr<workload> make_latency_workload(const request& asked)
{
    if (asked.workload == "uncontended")
        return std::make_unique<uncontended>(asked);
    if (asked.workload == "first")
        return std::make_unique<first>(asked);
    if (asked.workload == "handoff")
        return std::make_unique<handoff>(asked);
    return nullptr;
}

} // namespace zklock::bench

// The driver of Redis: a thread for each contender, with a connection of its own. In the steps that all drivers have.
#include "driver/board.hpp"
#include "redis/lock.hpp"

#include <sys/prctl.h>

#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace zklock::bench {

namespace {

using namespace std::chrono_literals;

/// Threads that contend for one lock, and what they have in common.
class redis_scene : public workload {
public:
    explicit redis_scene(request asked) : asked_(std::move(asked)) {}
    ~redis_scene() override { stop(); }
    void tear_down() override
    {
        stop();
        join();
    }

protected:
    redis_lock& add_contender()
    {
        auto& connection = connections_.emplace_back(asked_.text("servers"));
        return locks_.emplace_back(connection, asked_.text("path"),
                                   std::chrono::microseconds{asked_.number("poll_us")});
    }
    template <class Body> void start(Body body)
    {
        threads_.emplace_back([this, body = std::move(body)] {
            try {
                ::prctl(PR_SET_TIMERSLACK, 1'000); // 1 us; by default the delays would be 50 us longer
                body();
            } catch (...) {
                const std::lock_guard held{mutex_};
                if (!failure_)
                    failure_ = std::current_exception();
            }
        });
    }
    void stop()
    {
        stopping_ = true;
        for (auto& t : threads_)
            t.join();
        threads_.clear();
    }
    void join()
    {
        for (auto& t : threads_)
            t.join();
        threads_.clear();
        if (failure_)
            std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    /// Lets the threads run for the time that is measured.
    report watch()
    {
        {
            const std::lock_guard held{mutex_};
            found_ = {};
        }
        const auto begin = steady_clock::now();
        std::this_thread::sleep_for(seconds());
        const std::lock_guard held{mutex_};
        found_.elapsed = steady_clock::now() - begin;
        return std::exchange(found_, {});
    }
    [[nodiscard]] std::chrono::milliseconds seconds() const { return asked_.milliseconds("ms"); }
    [[nodiscard]] std::chrono::microseconds hold() const
    {
        return std::chrono::microseconds{asked_.number("hold_us", 0)};
    }

    request asked_;
    std::mutex mutex_;
    report found_;
    std::atomic<bool> stopping_ = false;
    std::deque<redis_connection> connections_;
    std::deque<redis_lock> locks_;

private:
    std::vector<std::thread> threads_;
    std::exception_ptr failure_;
};

/// One path, one client: acquire, then release, and again.
class uncontended : public redis_scene {
public:
    using redis_scene::redis_scene;

    void set_up() override
    {
        add_contender();
        cycles(100ms);
    }
    report measure() override { return cycles(seconds()); }

private:
    report cycles(std::chrono::milliseconds time)
    {
        auto& lock = locks_.front();
        report found;
        const auto begin = steady_clock::now();
        for (auto now = begin; now - begin < time; ++found.operations) {
            lock.acquire();
            found.latencies["acquire"].record(steady_clock::now() - now);
            lock.release();
            const auto end = steady_clock::now();
            found.latencies["cycle"].record(end - now);
            found.elapsed = end - begin;
            now = end;
        }
        return found;
    }
};

/// handoff: some contenders, of which each may hold the lock for a time. crowd: many of them.
class contenders : public redis_scene {
public:
    using redis_scene::redis_scene;
    ~contenders() override { stop(); } // before what the threads use is gone

    void set_up() override
    {
        const bool handoff = asked_.workload == "handoff";
        const auto count = asked_.number(handoff ? "sessions" : "waiters");
        for (std::int64_t self = 1; self <= count; ++self)
            start([this, &lock = add_contender(), self, handoff] { contend(lock, self, handoff); });
        std::this_thread::sleep_for(100ms);
    }
    report measure() override { return watch(); }

private:
    void contend(redis_lock& lock, std::int64_t self, bool handoff)
    {
        while (!stopping_) {
            const auto asked_at = steady_clock::now();
            lock.acquire();
            const auto granted = steady_clock::now();
            {
                const std::lock_guard held{mutex_};
                const bool passed_on = last_holder_ != 0 && last_holder_ != self;
                if (passed_on)
                    found_.latencies["handoff"].record(granted - released_);
                if (!handoff)
                    found_.latencies["acquire"].record(granted - asked_at);
                found_.operations += !handoff || passed_on;
            }
            if (hold().count() != 0)
                std::this_thread::sleep_until(granted + hold());
            {
                const std::lock_guard held{mutex_};
                last_holder_ = self;
                released_ = steady_clock::now();
            }
            lock.release();
        }
    }

    std::int64_t last_holder_ = 0;
    steady_clock::time_point released_;
};

/// The same, with contenders in other processes, too.
class apart : public redis_scene {
public:
    explicit apart(request asked) : redis_scene(std::move(asked)), tally_(asked_), board_(asked_) {}

    void set_up() override
    {
        for (std::int64_t i = 0; i < contenders_apart(asked_); ++i)
            add_contender();
        contend_from(steady_clock::now(), 100ms);
    }
    report measure() override
    {
        contend_from(board_.start(), seconds());
        return tally_.take();
    }

private:
    void contend_from(steady_clock::time_point first, std::chrono::milliseconds time)
    {
        tally_.begin(first, time);
        for (auto& lock : locks_)
            start([this, &lock, first] { contend(lock, first); });
        join();
    }
    void contend(redis_lock& lock, steady_clock::time_point first)
    {
        std::this_thread::sleep_until(first);
        while (!tally_.over()) {
            const auto asked_at = steady_clock::now();
            lock.acquire();
            const auto now = steady_clock::now();
            {
                const std::lock_guard held{mutex_};
                tally_.granted(asked_at, now, board_.granted(now));
            }
            if (hold().count() != 0)
                std::this_thread::sleep_until(now + hold());
            board_.releasing();
            lock.release();
        }
    }

    tally tally_;
    board board_;
};

} // namespace

} // namespace zklock::bench

int main()
{
    using namespace zklock::bench;
    return serve([](const request& asked) -> std::unique_ptr<workload> {
        if (asked.workload == "uncontended")
            return std::make_unique<uncontended>(asked);
        if (asked.workload != "handoff" && asked.workload != "crowd")
            return nullptr;
        if (asked.number("processes", 0) != 0)
            return std::make_unique<apart>(asked);
        return std::make_unique<contenders>(asked);
    });
}

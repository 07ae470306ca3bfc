// Contenders in processes of their own: what one of those processes does.
#include "driver/board.hpp"
#include "zklock/scene.hpp"

#include <boost/asio/steady_timer.hpp>

#include <optional>

namespace zklock::bench {

using namespace std::chrono_literals;

namespace {

/// handoff: one contender, which may hold the lock for a time. crowd: this process's share of the waiters.
class apart : public scene {
public:
    explicit apart(request asked) : scene(std::move(asked)), tally_(asked_) {}

    void set_up() override
    {
        scene::set_up();
        board_.emplace(asked_);
        contend_from(steady_clock::now(), std::chrono::milliseconds{100});
    }
    report measure() override
    {
        contend_from(board_->start(), seconds());
        return tally_.take();
    }

private:
    /// Until nobody of this process wants the lock any more: between its steps a process must not hold it.
    void contend_from(steady_clock::time_point first, std::chrono::milliseconds time)
    {
        tally_.begin(first, time);
        for (std::int64_t i = 0; i < contenders_apart(asked_); ++i)
            start(contend(first));
        run_until_started_end();
        if (options().linger != 0ms)
            run_for(options().linger + 1ms);
    }
    awaitable<void> contend(steady_clock::time_point first)
    {
        const std::chrono::microseconds hold{asked_.number("hold_us", 0)};
        mutex lock{zk(), path(), options()};
        asio::steady_timer timer{io_, first};
        co_await timer.async_wait(asio::use_awaitable);
        for (bool over = tally_.over(); !over;) {
            const auto asked_at = steady_clock::now();
            guard held = must(co_await lock.acquire());
            const auto now = steady_clock::now();
            tally_.granted(asked_at, now, board_->granted(now));
            if (hold.count() != 0) {
                timer.expires_after(hold);
                co_await timer.async_wait(asio::use_awaitable);
            }
            board_->releasing();
            // As in users' code, the guard goes out of scope: the delete need not be answered before the process
            // asks again. The last release is awaited, because the executor stops with the last contender.
            over = tally_.over();
            if (over)
                must(co_await std::move(held).release());
        }
    }

    tally tally_;
    std::optional<board> board_;
};

} // namespace

std::unique_ptr<workload> make_apart_workload(const request& asked)
{
    if (asked.number("processes", 0) == 0)
        return nullptr;
    if (asked.workload == "handoff" || asked.workload == "crowd")
        return std::make_unique<apart>(asked);
    return nullptr;
}

} // namespace zklock::bench

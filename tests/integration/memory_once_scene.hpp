#pragma once
// What the tests have in common in which memory fails once in an operation, while another client waits its turn. For
// one file of a program: see failing_memory.hpp.
#include "integration/memory_scene.hpp"
#include "support/one_server.hpp"

#include <boost/system/errc.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace zklock::test {

/// What memory that fails once may do to one whom it meets.
struct told : ending {
    std::shared_ptr<error_code> how = std::make_shared<error_code>();

    /// Destroys what it is granted.
    [[nodiscard]] auto handler() const
    {
        return [calls = calls, how = how](error_code ec, const auto&...) {
            ++*calls;
            *how = ec;
        };
    }
    [[nodiscard]] bool dropped() const { return is_over() && *calls == 0; }
    [[nodiscard]] bool well() const { return *calls == 1 && !*how; }
    [[nodiscard]] bool failed_with(error_code ec) const { return *calls == 1 && *how == ec; }
    [[nodiscard]] bool without_memory() const
    {
        return *calls == 1 && *how == boost::system::errc::not_enough_memory;
    }
    [[nodiscard]] bool cancelled() const { return failed_with(asio::error::operation_aborted); }
};

/// Takes no part in the shortage of memory.
struct enough_memory {
    enough_memory() = default;
    ~enough_memory() { allocations_left = left; }
    enough_memory(const enough_memory&) = delete;
    enough_memory& operator=(const enough_memory&) = delete;

    const long left = std::exchange(allocations_left, -1);
};

struct begun {
    bool failed = false; ///< there were so many allocations
    int thrown = 0;      ///< by the call, or out of the context
};

/// Calls `begin`, and runs the context, until the so-and-so-manieth allocation since then has failed or that is over.
/// Then there is memory again. If an exception came out of the context, it may be waiting for its cancellation.
/// `others` is called again and again meanwhile, and has memory.
template <class Begin>
begun begin_short_of_memory(asio::io_context& io, int number, const ending& e, asio::cancellation_signal& cancel,
                            Begin begin, const std::function<void()>& others = [] {})
{
    begun all;
    {
        const short_of_memory now(number);
        try {
            begin();
            const auto end = steady_clock::now() + 60s;
            while (!short_of_memory::has_struck() && !e.is_over() && steady_clock::now() < end) {
                io.restart();
                io.run_one_for(1ms);
                const enough_memory for_others;
                others();
            }
        } catch (const std::bad_alloc&) {
            ++all.thrown;
        }
        all.failed = short_of_memory::has_struck();
    }
    const auto is_over = [&] {
        others();
        return e.is_over();
    };
    if (all.thrown != 0) {
        const auto begins_no_more = steady_clock::now() + 100ms;
        run_past_failures(io, [&] { return is_over() || steady_clock::now() > begins_no_more; });
        cancel.emit(asio::cancellation_type::terminal);
    }
    all.thrown += run_past_failures(io, is_over);
    return all;
}

/// One client, in which memory fails, and another one, with a context of its own, that has memory and waits its turn.
struct two_clients {
    asio::io_context io, others_io;
    client c{io, hasty_options_for(server().address())};
    client other{others_io, options_for(server().address())};

    void run_other()
    {
        others_io.restart();
        others_io.poll();
    }
    int until(const std::function<bool()>& holds)
    {
        return run_past_failures(io, holds, [this] { run_other(); });
    }
    /// For either client.
    guard take(mutex& lock)
    {
        guard held;
        lock.acquire([&](error_code ec, guard given) {
            CHECK_FALSE(ec);
            held = std::move(given);
        });
        until([&] { return static_cast<bool>(held); });
        return held;
    }
    template <class Lock> void until_queued(Lock& lock, std::size_t count)
    {
        for (std::size_t queued = 0; queued != count;) {
            bool listed = false;
            lock.contenders([&](error_code, const std::vector<contender>& all) {
                queued = all.size();
                listed = true;
            });
            until([&] { return listed; });
        }
    }
    void close_both()
    {
        close(io, c);
        close(others_io, other);
    }
};

} // namespace zklock::test

#pragma once
// For tests in which memory fails, on an executor of their own.
#include "runtime/turns.hpp"
#include "support/failing_memory.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <new>

namespace zklock::test {

/// Runs for so long at most, until that holds; exceptions for want of memory come and go.
template <class Holds> bool runs_until(boost::asio::io_context& io, Holds holds, std::chrono::milliseconds limit)
{
    using clock = std::chrono::steady_clock;
    for (const auto end = clock::now() + limit; !holds() && clock::now() < end;) {
        io.restart();
        try {
            io.run_one_for(std::chrono::milliseconds(2));
        } catch (const std::bad_alloc&) {
            continue;
        }
    }
    return holds();
}

inline const runtime::turns* watched_turns = nullptr;

/// Memory fails only in turns: the handlers that Asio drops for want of memory, before they begin, are its own matter.
struct only_in_turns {
    std::shared_ptr<runtime::turns> turns = std::make_shared<runtime::turns>();
    only_in_turns()
    {
        watched_turns = turns.get();
        may_fail = [] { return watched_turns->open(); };
    }
    ~only_in_turns() { may_fail = nullptr; }
    only_in_turns(const only_in_turns&) = delete;
    only_in_turns& operator=(const only_in_turns&) = delete;
};

} // namespace zklock::test

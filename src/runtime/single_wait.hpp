#pragma once
#include "runtime/kept_memory.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/system/error_code.hpp>

#include <utility>

namespace zklock::runtime {

/// A wait for a timer or for a socket, of which one is under way at any time. Its memory is kept, so that it can begin
/// and end when the heap has none left. A second one beside it would take memory from the heap as it ends, if the
/// strand is busy then; where the heap has none, Asio drops the handler, and nobody ever hears that the wait has ended.
/// So a caller that wants to wait for something else cancels the wait, and begins anew when its handler runs.
class single_wait {
public:
    /// Until its handler runs, also after it was cancelled.
    [[nodiscard]] bool under_way() const noexcept { return under_way_; }

    /// None is under way. `start` is given the handler and starts the wait with it; `ended` is called with its outcome,
    /// on the executor of the timer or socket, and keeps this object alive until then.
    template <class Start, class Ended> void begin(Start&& start, Ended ended)
    {
        std::forward<Start>(start)(boost::asio::bind_allocator(
            memory_.get(), [this, ended = std::move(ended)](const boost::system::error_code& outcome) {
                under_way_ = false;
                ended(outcome);
            }));
        under_way_ = true;
    }

private:
    memory_of_wait memory_;
    bool under_way_ = false;
};

} // namespace zklock::runtime

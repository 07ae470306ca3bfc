#pragma once
#include "bridge/wire/delivery.hpp"

#include <boost/circular_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace zklock::bridge {

/// The one queue between the C client's callbacks and the caller: a ring. Once it discards, nobody is told anything any
/// more, and what is done takes no memory of its own.
class inbox {
public:
    [[nodiscard]] bool empty() const noexcept { return ring_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return ring_.size(); }
    template <class Message> void push(Message&& m)
    {
        if (discards_)
            return;
        if (ring_.full())
            ring_.set_capacity(std::max<std::size_t>(2 * ring_.capacity(), 16));
        ring_.push_back(std::forward<Message>(m));
    }
    [[nodiscard]] const message& front() const noexcept { return ring_.front(); }
    [[nodiscard]] message take_front() noexcept
    {
        message m = std::move(ring_.front());
        ring_.pop_front();
        return m;
    }
    /// Gives memory back that a crowd has left.
    void shrink()
    {
        constexpr std::size_t kept = 256;
        if (ring_.empty() && ring_.capacity() > kept)
            ring_.set_capacity(kept);
    }

    /// Has a callback put something in. The C client is written in C, so no exception may leave one: where there is no
    /// memory for what came, lacked_memory() says so behind the call.
    template <class F> void fill(F f) noexcept
    {
        if (discards_)
            return;
        try {
            f();
        } catch (...) {
            lacked_memory_ = true;
        }
    }
    /// True, once.
    [[nodiscard]] bool lacked_memory() noexcept { return std::exchange(lacked_memory_, false) && !discards_; }

    void discard() noexcept { discards_ = true; }
    [[nodiscard]] bool discards() const noexcept { return discards_; }
    /// A request that got no answer since. It stays, with what it owns, until drop_discarded(), which is called outside
    /// of the C client: what goes then may come back to that.
    void keep_discarded(std::unique_ptr<request> r) noexcept
    {
        r->next_discarded = std::exchange(discarded_, nullptr);
        discarded_ = std::move(r);
    }
    void drop_discarded() noexcept
    {
        for (auto each = std::move(discarded_); each;)
            each = std::move(each->next_discarded);
    }

private:
    boost::circular_buffer<message> ring_;
    bool lacked_memory_ = false;
    bool discards_ = false;
    std::unique_ptr<request> discarded_; // the last, which has the one before it
};

} // namespace zklock::bridge

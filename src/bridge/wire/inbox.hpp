#pragma once
#include "bridge/wire/delivery.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace zklock::bridge {

/// The one queue between the C client's callbacks and the caller: a ring. Once it discards, nobody is told anything any
/// more, and what is done takes no memory of its own.
class inbox {
public:
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    template <class Message> void push(Message&& m)
    {
        if (discards_)
            return;
        if (size_ == ring_.size())
            move_to(std::max<std::size_t>(2 * size_, 16));
        place(size_) = std::forward<Message>(m);
        ++size_;
    }
    [[nodiscard]] const message& front() const noexcept { return ring_[first_]; }
    [[nodiscard]] message take_front() noexcept
    {
        message m = std::exchange(place(0), message());
        first_ = (first_ + 1) & (ring_.size() - 1);
        --size_;
        return m;
    }
    /// Gives memory back that a crowd has left.
    void shrink()
    {
        constexpr std::size_t kept = 256;
        if (size_ == 0 && ring_.size() > kept)
            move_to(kept);
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
    [[nodiscard]] message& place(std::size_t n) noexcept { return ring_[(first_ + n) & (ring_.size() - 1)]; }
    void move_to(std::size_t room)
    {
        std::vector<message> other(room);
        for (std::size_t n = 0; n < size_; ++n)
            other[n] = std::move(place(n));
        ring_ = std::move(other);
        first_ = 0;
    }

    std::vector<message> ring_; // a power of two of them
    std::size_t first_ = 0;
    std::size_t size_ = 0;
    bool lacked_memory_ = false;
    bool discards_ = false;
    std::unique_ptr<request> discarded_; // the last, which has the one before it
};

} // namespace zklock::bridge

#pragma once
#include "bridge/wire/delivery.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace zklock::bridge {

/// The one queue between the C client's callbacks and the caller: a ring.
class inbox {
public:
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    template <class Message> void push(Message&& m)
    {
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
};

} // namespace zklock::bridge

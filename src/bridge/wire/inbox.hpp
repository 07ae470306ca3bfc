#pragma once
#include "bridge/wire/delivery.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace zklock::bridge {

/// The one queue between the C client's callbacks and the caller: a ring. What was reserved before is sure
/// to find room, for inside of a callback nobody can be told that there is no memory.
class inbox {
public:
    /// Keeps room for one more message, and gives it back unless keep() was called: an exception may come between.
    class room {
    public:
        explicit room(inbox& in) : in_(&in) { in.reserve(1); }
        ~room()
        {
            if (in_)
                in_->unreserve(1);
        }
        room(const room&) = delete;
        room& operator=(const room&) = delete;

        void keep() noexcept { in_ = nullptr; }

    private:
        inbox* in_;
    };

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Keeps room for so many more messages.
    void reserve(std::size_t more)
    {
        grow(size_ + reserved_ + more);
        reserved_ += more;
    }
    /// So many of those for which room is kept will not come.
    void unreserve(std::size_t fewer) noexcept { reserved_ -= std::min(fewer, reserved_); }
    /// Adds a message for which no room was kept.
    template <class Message> void push(Message&& m)
    {
        grow(size_ + reserved_ + 1);
        place(size_) = std::forward<Message>(m);
        ++size_;
    }
    /// Adds a message for which room was kept.
    template <class Message> void push_reserved(Message&& m)
    {
        unreserve(1);
        push(std::forward<Message>(m));
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
    void shrink() noexcept
    {
        constexpr std::size_t kept = 256;
        if (size_ != 0 || ring_.size() <= kept || reserved_ > ring_.size() / 4)
            return;
        try {
            ring_ = std::vector<message>(std::bit_ceil(std::max(kept, 2 * reserved_)));
            first_ = 0;
        } catch (const std::bad_alloc&) { // it stays as it is
        }
    }

private:
    [[nodiscard]] message& place(std::size_t n) noexcept { return ring_[(first_ + n) & (ring_.size() - 1)]; }
    void grow(std::size_t wanted)
    {
        if (wanted <= ring_.size())
            return;
        std::vector<message> larger(std::bit_ceil(std::max<std::size_t>(wanted, 16)));
        for (std::size_t n = 0; n < size_; ++n)
            larger[n] = std::move(place(n));
        ring_ = std::move(larger);
        first_ = 0;
    }

    std::vector<message> ring_; // a power of two of them
    std::size_t first_ = 0;
    std::size_t size_ = 0;
    std::size_t reserved_ = 0;
};

} // namespace zklock::bridge

#pragma once
#include <atomic>
#include <cstddef>
#include <new>

namespace zklock::runtime {

/// Room for what Asio needs for one operation, kept from one to the next: so that the operation can be started when
/// there is no memory. While it is taken, and for what is larger, there is the heap. It has to outlive what it was
/// taken for: the handler keeps it alive.
template <std::size_t Size> class kept_memory {
public:
    kept_memory& operator=(kept_memory&&) = delete;

    template <class T> class allocator {
    public:
        using value_type = T;

        explicit allocator(kept_memory& of) noexcept : of_(&of) {}
        template <class U> allocator(const allocator<U>& other) noexcept : of_(other.of_) {}

        [[nodiscard]] T* allocate(std::size_t n)
        {
            static_assert(alignof(T) <= alignof(std::max_align_t));
            return static_cast<T*>(of_->take(n * sizeof(T)));
        }
        void deallocate(T* p, std::size_t) noexcept { of_->give_back(p); }
        template <class U> friend bool operator==(const allocator& a, const allocator<U>& b) noexcept
        {
            return a.of_ == b.of_;
        }

    private:
        template <class> friend class allocator;
        kept_memory* of_;
    };
    [[nodiscard]] allocator<void> get() noexcept { return allocator<void>(*this); }

private:
    [[nodiscard]] void* take(std::size_t size)
    {
        if (size <= Size && !taken_.exchange(true, std::memory_order_acquire))
            return room_;
        return ::operator new(size);
    }
    void give_back(void* p) noexcept
    {
        if (p == room_)
            taken_.store(false, std::memory_order_release);
        else
            ::operator delete(p);
    }

    alignas(std::max_align_t) std::byte room_[Size];
    std::atomic<bool> taken_{false};
};

using memory_of_wait = kept_memory<448>; ///< of a timer, or of a socket
using memory_of_post = kept_memory<192>;

} // namespace zklock::runtime

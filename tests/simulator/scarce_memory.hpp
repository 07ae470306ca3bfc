#pragma once
#include "world.hpp"

#include <new>

namespace zklock::simulator {

/// While this lives, one of the next allocations of this thread may fail, and some after it: where the schedule's
/// settings say that memory is scarce. For what the library does; what the simulator does in between has plenty.
class scarce_memory {
public:
    scarce_memory(world& w, unsigned client);
    ~scarce_memory();
    scarce_memory(const scarce_memory&) = delete;
    scarce_memory& operator=(const scarce_memory&) = delete;

    static void ends() noexcept; ///< before that: the rest is not the library's
};

/// Around all that is called of one client's library. Where memory fails in it, the client fails as a whole: `fails` is
/// called, and nothing of it runs any more. What fails in a call within a call is the outer one's.
class memory_boundary {
public:
    memory_boundary(world& w, unsigned client, std::function<void()> fails)
        : world_(w), number_(client), fails_(std::move(fails))
    {
    }
    memory_boundary(const memory_boundary&) = delete;
    memory_boundary& operator=(const memory_boundary&) = delete;

    /// False if memory has failed.
    template <class F> bool run(F f)
    {
        if (failed_)
            return false;
        if (inside_) {
            const scarce_memory now(world_, number_);
            f();
            return true;
        }
        inside_ = true;
        try {
            const scarce_memory now(world_, number_);
            f();
        } catch (const std::bad_alloc&) {
            failed_ = true;
        }
        inside_ = false;
        if (failed_)
            fails_();
        return !failed_;
    }

private:
    world& world_;
    const unsigned number_;
    const std::function<void()> fails_;
    bool inside_ = false;
    bool failed_ = false;
};

class plenty_of_memory {
public:
    plenty_of_memory() noexcept;
    ~plenty_of_memory();
    plenty_of_memory(const plenty_of_memory&) = delete;
    plenty_of_memory& operator=(const plenty_of_memory&) = delete;

private:
    const bool before_;
};

} // namespace zklock::simulator

#pragma once
#include "world.hpp"

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

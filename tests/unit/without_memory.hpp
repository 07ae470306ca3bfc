#pragma once
// What tests have in common in which the core lacks memory. They are not in the program of the others, for the
// operator new that this brings.
#include "session_scene.hpp"
#include "support/failing_memory.hpp"

#include <functional>
#include <utility>

namespace zklock::unit {

/// What comes of a lack of memory: the connection is given up, and then there is memory again.
inline void give_up_if_wanted(scene& s)
{
    if (std::exchange(s.servers.given_up, false))
        s.servers.observer->on_disconnected();
    s.clock.run();
}

/// As the bridge gives an answer: it tells of exceptions that come out of that.
inline void answer_as_the_bridge(scene& s, const fake_store::request& asked, outcome how)
{
    try {
        asked.answer(how);
    } catch (const std::bad_alloc&) {
        s.servers.observer->on_exception();
    }
}

/// Plays `story` again and again, with memory that fails once, at the first allocation of what it calls without memory,
/// then at the second, and so on, as long as there are so many.
using without_memory = std::function<void(const std::function<void()>&)>;
inline void play_without_memory(const std::function<void(const without_memory&)>& story)
{
    bool failed = true;
    for (int number = 1; failed; ++number) {
        CAPTURE(number);
        story([&](const std::function<void()>& step) {
            const test::short_of_memory now(number);
            step();
            failed = test::short_of_memory::has_struck();
        });
    }
}

} // namespace zklock::unit

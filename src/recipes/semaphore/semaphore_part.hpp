#pragma once
#include "recipes/semaphore/semaphore_layout.hpp"
#include "recipes/session/session.hpp"

namespace zklock::recipes {

class semaphore_path;

/// What the parts of a semaphore_path work on.
class semaphore_part {
public:
    semaphore_part(semaphore_path& semaphore, session& s, const semaphore_layout& layout)
        : semaphore_(semaphore), session_(s), layout_(layout)
    {
    }
    semaphore_part& operator=(semaphore_part&&) = delete;

protected:
    semaphore_path& semaphore_;
    session& session_;
    const semaphore_layout& layout_;
};

} // namespace zklock::recipes

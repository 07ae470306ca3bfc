#pragma once
#include "queue/lock_queue.hpp"
#include "recipes/locks/contender_table.hpp"
#include "recipes/session/session.hpp"

namespace zklock::recipes {

class lock_path;

/// What the parts of a lock_path work on.
class path_part {
public:
    path_part(lock_path& lock, session& s, queue::lock_queue& queue, contender_table& contenders)
        : lock_(lock), session_(s), queue_(queue), contenders_(contenders)
    {
    }

protected:
    using contender_ptr = contender_table::contender_ptr;

    lock_path& lock_;
    session& session_;
    queue::lock_queue& queue_;
    contender_table& contenders_;
};

} // namespace zklock::recipes

#include "adapter/locks/reentrant_target.hpp"
#include "zklock/reentrant_mutex.hpp"

#include <utility>

namespace zklock {

using detail::reentrant_target;

owned_shared_mutex::owned_shared_mutex(const client& c, std::string path, shared_mutex_options options)
    : queued_lock(detail::make_lock<reentrant_target>(c, std::move(path), detail::of_a_contender(options),
                                                      queue::contender_kind::writer)),
      readers_(detail::readers_beside<reentrant_target>(*state()))
{
}

std::size_t owned_shared_mutex::hold_count(lock_owner owner) const noexcept
{
    return detail::holds_of(*state(), owner.id()).alone;
}

std::size_t owned_shared_mutex::hold_count_shared(lock_owner owner) const noexcept
{
    return detail::holds_of(*state(), owner.id()).shared;
}

} // namespace zklock

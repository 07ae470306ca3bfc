#include "adapter/locks/lock_state.hpp"
#include "adapter/locks/mutex_target.hpp"
#include "adapter/locks/reentrant_target.hpp"
#include "zklock/detail/access.hpp"
#include "zklock/reentrant_mutex.hpp"

#include <utility>

namespace zklock {
namespace {

std::shared_ptr<detail::lock_state> writers_of(const client& c, std::string path, const shared_mutex_options& options)
{
    auto settings =
        std::make_shared<const detail::reentrant_settings>(std::move(path), detail::of_a_contender(options));
    return std::make_shared<detail::lock_state>(
        detail::access::state(c),
        std::make_shared<detail::reentrant_target>(std::move(settings), queue::contender_kind::writer));
}

std::shared_ptr<detail::lock_state> readers_beside(const detail::lock_state& writers)
{
    const auto& target = static_cast<const detail::reentrant_target&>(*writers.target());
    return std::make_shared<detail::lock_state>(writers, target.of_kind(queue::contender_kind::reader));
}

} // namespace

owned_shared_mutex::owned_shared_mutex(const client& c, std::string path, shared_mutex_options options)
    : queued_lock(writers_of(c, std::move(path), options)), readers_(readers_beside(*state()))
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

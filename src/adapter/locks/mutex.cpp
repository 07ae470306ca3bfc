#include "zklock/mutex.hpp"
#include "adapter/locks/mutex_target.hpp"

namespace zklock {
mutex::mutex(const client& c, std::string path, mutex_options options)
    : acquirable(detail::make_lock(c, std::move(path), std::move(options)))
{
}

} // namespace zklock

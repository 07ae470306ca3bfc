#include "zklock/mutex.hpp"
#include "adapter/locks/mutex_target.hpp"
#include "zklock/detail/access.hpp"

namespace zklock {
mutex::mutex(const client& c, std::string path, mutex_options options)
    : acquirable(std::make_shared<detail::lock_state>(
          detail::access::state(c), std::make_shared<detail::mutex_target>(std::move(path), std::move(options))))
{
}

} // namespace zklock

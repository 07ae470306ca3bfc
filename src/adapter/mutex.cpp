#include "zklock/mutex.hpp"
#include "adapter/access.hpp"
#include "adapter/lock_state.hpp"

namespace zklock {
namespace detail {
namespace {

class mutex_target final : public lock_target {
public:
    mutex_target(std::string path, mutex_options options) : path_(std::move(path)), options_(std::move(options)) {}

    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    [[nodiscard]] std::shared_ptr<recipes::acquisition> acquire(client_core& core,
                                                                recipes::waiter waiter) const override
    {
        return core.session.acquire({std::move(waiter), path_, options_});
    }

private:
    std::string path_;
    mutex_options options_;
};

} // namespace
} // namespace detail

mutex::mutex(const client& c, std::string path, mutex_options options)
    : state_(std::make_shared<detail::lock_state>(
          detail::client_access::handle(c),
          std::make_shared<detail::mutex_target>(std::move(path), std::move(options))))
{
}

} // namespace zklock

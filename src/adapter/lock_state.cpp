#include "adapter/lock_state.hpp"
#include "adapter/acquire_operation.hpp"
#include "zklock/guard.hpp"

namespace zklock::detail {
namespace {

class contenders_operation final : public operation<std::vector<contender>> {
public:
    contenders_operation(const lock_state& lock, contenders_handler handler)
        : operation(lock.client(), std::move(handler)), path_(lock.target()->path())
    {
    }

private:
    void begin() override
    {
        if (auto* const core = enter_open_client())
            list_ = core->session.contenders(
                path_, [this, self = weak_from_this()](error_code ec, std::vector<contender> found) {
                    if (const auto alive = self.lock())
                        complete(ec, std::move(found));
                });
    }
    bool withdraw() override
    {
        // Without an open client it is ended by the close.
        return client()->open_core() && list_->withdraw();
    }
    void end_as_closed() override { complete(client()->refusal(), {}); }

    std::string path_;
    std::shared_ptr<recipes::contender_list> list_;
};

} // namespace

void start_acquire(std::shared_ptr<lock_state> lock, acquire_mode mode, std::optional<lease_clock::duration> timeout,
                   guard_handler handler)
{
    launch_acquire<guard>(*lock, mode, timeout, std::move(handler));
}

void start_contenders(std::shared_ptr<lock_state> lock, contenders_handler handler)
{
    contenders_operation::launch(std::make_shared<contenders_operation>(*lock, std::move(handler)));
}

asio::any_io_executor executor_of(const std::shared_ptr<lock_state>& lock)
{
    if (!lock)
        return asio::system_executor();
    return lock->client()->executor();
}

const std::string& path_of(const std::shared_ptr<lock_state>& lock) noexcept
{
    return lock->target()->path();
}

} // namespace zklock::detail

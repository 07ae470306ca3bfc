#include "adapter/locks/lock_state.hpp"
#include "adapter/client/request_operation.hpp"
#include "adapter/locks/acquire_operation.hpp"
#include "zklock/guard.hpp"

namespace zklock::detail {
namespace {

void list(const lock_state& lock, lock_target::listing where, contenders_handler handler)
{
    auto ask = [what = where.what](client_core& core, const std::string& path, auto answer) {
        return recipes::list_contenders(core.session, path, std::move(answer), what);
    };
    launch_request<std::vector<contender>>(lock.client(), {"list contenders at ", std::move(where.path)},
                                           std::move(ask), std::move(handler));
}

} // namespace

template void start_acquire<guard>(std::shared_ptr<lock_state>, acquire_mode, std::optional<lease_clock::duration>,
                                   guard_handler);

void start_contenders(std::shared_ptr<lock_state> lock, contenders_handler handler)
{
    list(*lock, lock->target()->contenders(), std::move(handler));
}

void start_holders(std::shared_ptr<lock_state> lock, contenders_handler handler)
{
    list(*lock, lock->target()->holders(), std::move(handler));
}

void start_revoke(std::shared_ptr<lock_state> lock, std::string node, void_handler handler)
{
    auto ask = [where = lock->target()->holders()](client_core& core, const std::string& revoked, auto answer) {
        const auto told = [answer = std::move(answer)](error_code ec, std::size_t) { answer(ec); };
        return recipes::revoke(core.session, where.path, revoked, told, where.what);
    };
    launch_request<>(lock->client(), {"revoke ", std::move(node)}, std::move(ask), std::move(handler));
}

void start_revoke_holders(std::shared_ptr<lock_state> lock, count_handler handler)
{
    lock_target::listing where = lock->target()->holders();
    auto ask = [what = where.what](client_core& core, const std::string& path, auto answer) {
        return recipes::revoke_holders(core.session, path, std::move(answer), what);
    };
    launch_request<std::size_t>(lock->client(), {"revoke the holders at ", std::move(where.path)}, std::move(ask),
                                std::move(handler));
}

asio::any_io_executor executor_of(const std::shared_ptr<lock_state>& lock)
{
    return executor_of(lock ? lock->client() : std::shared_ptr<client_state>());
}

const std::string& path_of(const std::shared_ptr<lock_state>& lock) noexcept
{
    return lock->target()->path();
}

} // namespace zklock::detail

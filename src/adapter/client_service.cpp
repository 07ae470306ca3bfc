#include "adapter/client_service.hpp"
#include "adapter/client_state.hpp"

#include <vector>

namespace zklock::detail {

boost::asio::execution_context::id client_service::id;

void client_service::registry::add(client_state& client)
{
    const std::lock_guard lock(mutex_);
    clients_.insert(&client);
}

void client_service::registry::remove(client_state& client) noexcept
{
    const std::lock_guard lock(mutex_);
    clients_.erase(&client);
}

void client_service::shutdown()
{
    std::vector<std::shared_ptr<client_state>> clients;
    {
        const std::lock_guard lock(registry_->mutex_);
        for (auto* client : registry_->clients_)
            if (auto alive = client->weak_from_this().lock()) // else its destructor is waiting for this mutex
                clients.push_back(std::move(alive));
        registry_->clients_.clear();
    }
    for (const auto& client : clients)
        client->context_gone();
}

} // namespace zklock::detail

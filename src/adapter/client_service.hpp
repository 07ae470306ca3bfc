#pragma once
#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <unordered_set>

namespace zklock::detail {

class client_state;

/// The clients of one execution context. The context tells it when it is destroyed, and it tells the clients, so that
/// whatever of theirs is still held by somebody (a guard, say) has let go of the context's objects by then.
class client_service final : public boost::asio::execution_context::service {
public:
    static boost::asio::execution_context::id id;

    explicit client_service(boost::asio::execution_context& context) : service(context) {}

    /// Who is told. A client takes itself off in its destructor, also when the service is no more.
    class registry {
    public:
        void add(client_state&);
        void remove(client_state&) noexcept;

    private:
        friend client_service;
        std::mutex mutex_;
        std::unordered_set<client_state*> clients_;
    };
    [[nodiscard]] const std::shared_ptr<registry>& clients() const noexcept { return registry_; }

private:
    void shutdown() override;

    std::shared_ptr<registry> registry_ = std::make_shared<registry>();
};

} // namespace zklock::detail

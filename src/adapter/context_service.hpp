#pragma once
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>

#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

namespace zklock::detail {

/// Those of one kind who use an execution context. The context tells the service when it is destroyed, and that tells
/// them (`context_gone()`), so that whatever of theirs is still held by somebody has let go of the context's objects by
/// then. They are in shared pointers, and know of it (`enable_shared_from_this`).
template <class User> class context_service final : public boost::asio::execution_context::service {
public:
    inline static boost::asio::execution_context::id id;

    explicit context_service(boost::asio::execution_context& context) : service(context) {}

    /// Who is told. A user takes itself off in its destructor, also when the service is no more.
    class registry {
    public:
        void add(User& user)
        {
            const std::lock_guard lock(mutex_);
            users_.insert(&user);
        }
        void remove(User& user) noexcept
        {
            const std::lock_guard lock(mutex_);
            users_.erase(&user);
        }

    private:
        friend context_service;
        std::mutex mutex_;
        std::unordered_set<User*> users_;
    };

    /// Of the context of that executor.
    template <class Executor> [[nodiscard]] static std::shared_ptr<registry> of(const Executor& executor)
    {
        auto& context = boost::asio::query(executor, boost::asio::execution::context);
        return boost::asio::use_service<context_service>(context).registry_;
    }

private:
    void shutdown() override
    {
        std::vector<std::shared_ptr<User>> users;
        {
            const std::lock_guard lock(registry_->mutex_);
            for (auto* user : registry_->users_)
                if (auto alive = user->weak_from_this().lock()) // else its destructor is waiting for this mutex
                    users.push_back(std::move(alive));
            registry_->users_.clear();
        }
        for (const auto& user : users)
            user->context_gone();
    }

    std::shared_ptr<registry> registry_ = std::make_shared<registry>();
};

} // namespace zklock::detail

#pragma once
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>

#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

namespace zklock::detail {

/// The users, of one kind, of an execution context. The context tells the service when it is destroyed, and the service
/// tells the users (`context_gone()`): so objects of theirs that somebody still holds have let go of the context's
/// objects by then. In a forked process the service also tells the users of the fork, by `forked()` if they have that.
/// Users are in shared pointers, and derive from `enable_shared_from_this`.
template <class User> class context_service final : public boost::asio::execution_context::service {
public:
    inline static boost::asio::execution_context::id id;

    explicit context_service(boost::asio::execution_context& context) : service(context) {}

    /// The users that are told. A user takes itself off in its destructor, also when the service is no more.
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
        [[nodiscard]] std::vector<std::shared_ptr<User>> all() const
        {
            std::vector<std::shared_ptr<User>> users;
            const std::lock_guard lock(mutex_);
            for (auto* user : users_)
                if (auto alive = user->weak_from_this().lock()) // else its destructor is waiting for this mutex
                    users.push_back(std::move(alive));
            return users;
        }
        /// One that is told no more; null when there is none. Takes no memory.
        [[nodiscard]] std::shared_ptr<User> take_one() noexcept
        {
            const std::lock_guard lock(mutex_);
            while (!users_.empty()) {
                User* const user = *users_.begin();
                users_.erase(users_.begin());
                if (auto alive = user->weak_from_this().lock())
                    return alive;
            }
            return nullptr;
        }

        mutable std::mutex mutex_;
        std::unordered_set<User*> users_;
    };

    /// The registry of the context of that executor.
    template <class Executor> [[nodiscard]] static std::shared_ptr<registry> of(const Executor& executor)
    {
        auto& context = boost::asio::query(executor, boost::asio::execution::context);
        return boost::asio::use_service<context_service>(context).registry_;
    }

private:
    void shutdown() override
    {
        while (const auto user = registry_->take_one())
            user->context_gone();
    }
    void notify_fork(boost::asio::execution_context::fork_event event) override
    {
        if constexpr (requires(User& user) { user.forked(); })
            if (event == boost::asio::execution_context::fork_child)
                for (const auto& user : registry_->all())
                    user->forked();
    }

    std::shared_ptr<registry> registry_ = std::make_shared<registry>();
};

} // namespace zklock::detail

// A client's waiting for nodes.
#include "adapter/client/client_core.hpp"
#include "adapter/client/client_state.hpp"
#include "adapter/client/denials.hpp"
#include "adapter/client/operation.hpp"
#include "zklock/detail/node_operations.hpp"

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace zklock::detail {
namespace {

using goal = recipes::node_wait::goal;

/// `Values`: what its user is told of the node, besides that it is so.
template <class... Values> class watch_operation final : public operation<Values...> {
public:
    watch_operation(std::shared_ptr<client_state> client, std::string path, goal what, std::optional<node_stat> seen,
                    typename operation<Values...>::handler_type handler)
        : operation<Values...>(std::move(client), std::move(handler)), path_(std::move(path)), what_(what), seen_(seen)
    {
    }

private:
    void begin() override
    {
        if (auto* const core = this->enter_open_client())
            wait_ = core->watches.wait(path_, what_, seen_, this->template if_alive<&watch_operation::ended>());
    }

    void ended(error_code ec, const std::optional<node_stat>& now)
    {
        log_denial(*this->client(), ec, "wait for a change of ", path_);
        if constexpr (sizeof...(Values) == 0)
            this->complete(ec);
        else if constexpr ((std::is_same_v<Values, node_stat> && ...))
            this->complete(ec, now.value_or(node_stat()));
        else
            this->complete(ec, now);
    }

    bool withdraw() override
    {
        if (!this->client()->open_core()) // it is ended by the close
            return false;
        return wait_->withdraw();
    }

    const std::string path_;
    const goal what_;
    const std::optional<node_stat> seen_;
    std::shared_ptr<recipes::node_wait> wait_;
};

template <class... Values>
void launch_wait(const std::shared_ptr<client_handle>& client, std::string path, goal what,
                 std::optional<node_stat> seen, asio::any_completion_handler<void(error_code, Values...)> handler)
{
    using waiting = watch_operation<Values...>;
    waiting::launch(std::make_shared<waiting>(client->state(), std::move(path), what, seen, std::move(handler)));
}

} // namespace

void start_wait_created(std::shared_ptr<client_handle> client, std::string path,
                        asio::any_completion_handler<void(error_code, node_stat)> handler)
{
    launch_wait<node_stat>(client, std::move(path), goal::created, std::nullopt, std::move(handler));
}

void start_wait_deleted(std::shared_ptr<client_handle> client, std::string path, std::optional<node_stat> seen,
                        void_handler handler)
{
    launch_wait<>(client, std::move(path), goal::deleted, seen, std::move(handler));
}

void start_wait_changed(std::shared_ptr<client_handle> client, std::string path, node_stat seen,
                        asio::any_completion_handler<void(error_code, std::optional<node_stat>)> handler)
{
    launch_wait<std::optional<node_stat>>(client, std::move(path), goal::changed, seen, std::move(handler));
}

void start_wait_children_changed(std::shared_ptr<client_handle> client, std::string path, node_stat seen,
                                 asio::any_completion_handler<void(error_code, std::optional<node_stat>)> handler)
{
    launch_wait<std::optional<node_stat>>(client, std::move(path), goal::children_changed, seen, std::move(handler));
}

} // namespace zklock::detail

// A client's waiting for nodes.
#include "adapter/client/request_operation.hpp"
#include "zklock/detail/node_operations.hpp"

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace zklock::detail {
namespace {

using goal = recipes::node_wait::goal;

template <class Value> Value value_of(const std::optional<node_stat>& now)
{
    if constexpr (std::is_same_v<Value, node_stat>)
        return now.value_or(node_stat());
    else
        return now;
}

/// `Values`: what its user is told of the node, besides that it is so.
template <class... Values>
void launch_wait(const std::shared_ptr<client_handle>& client, std::string path, goal what,
                 std::optional<node_stat> seen, asio::any_completion_handler<void(error_code, Values...)> handler)
{
    auto ask = [what, seen](client_core& core, const std::string& at, auto told) {
        const auto tell = [told = std::move(told)](error_code ec,
                                                   [[maybe_unused]] const std::optional<node_stat>& now) {
            told(ec, value_of<Values>(now)...);
        };
        return core.watches.wait(at, what, seen, tell);
    };
    launch_request<Values...>(client->state(), {"wait for a change of ", std::move(path)}, std::move(ask),
                              std::move(handler));
}

} // namespace

void start_wait_created(std::shared_ptr<client_handle> client, std::string path, handler_of<node_stat> handler)
{
    launch_wait<node_stat>(client, std::move(path), goal::created, std::nullopt, std::move(handler));
}

void start_wait_deleted(std::shared_ptr<client_handle> client, std::string path, std::optional<node_stat> seen,
                        void_handler handler)
{
    launch_wait<>(client, std::move(path), goal::deleted, seen, std::move(handler));
}

void start_wait_changed(std::shared_ptr<client_handle> client, std::string path, node_stat seen,
                        handler_of<std::optional<node_stat>> handler)
{
    launch_wait<std::optional<node_stat>>(client, std::move(path), goal::changed, seen, std::move(handler));
}

void start_wait_children_changed(std::shared_ptr<client_handle> client, std::string path, node_stat seen,
                                 handler_of<std::optional<node_stat>> handler)
{
    launch_wait<std::optional<node_stat>>(client, std::move(path), goal::children_changed, seen, std::move(handler));
}

} // namespace zklock::detail

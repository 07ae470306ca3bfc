// The operations of a client on nodes, and transactions.
#include "zklock/detail/node_operations.hpp"
#include "adapter/client/request_operation.hpp"
#include "adapter/locks/guard_state.hpp"
#include "recipes/requests/node_operations.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zklock::detail {
namespace {

namespace nodes = recipes::nodes;

/// Asks that of the recipes: of the node of a path, with what else the question needs. `what`: see asked_request.
template <auto Ask, class... Values, class... Args>
void launch(const std::shared_ptr<client_handle>& client, const char* what, std::string path,
            asio::any_completion_handler<void(error_code, Values...)> handler, Args... args)
{
    auto ask = [... args = std::move(args)](client_core& core, const std::string& of, auto told) {
        return Ask(core.session, of, args..., std::move(told));
    };
    launch_request<Values...>(client->state(), {what, std::move(path)}, std::move(ask), std::move(handler));
}

/// One transaction guarded by a lock. While it waits to be sent, the guard's end is its own.
class commit_operation final : public request_operation<commit_result>, public guard_watcher {
public:
    commit_operation(std::shared_ptr<guard_state> guard, std::shared_ptr<client_state> client, transaction what,
                     commit_handler handler)
        : request_operation(std::move(client), std::move(handler)), guard_(std::move(guard)), what_(std::move(what))
    {
    }

private:
    void begin() override
    {
        const auto guard = std::exchange(guard_, nullptr);
        if (guard && guard->is_lost()) {
            complete(make_error_code(errc::lost), {});
        } else if (!guard || guard->is_released() || guard->is_downgrading()) { // it was taken from its owner since
            complete(make_error_code(errc::not_owner), {});
        } else {
            watch(guard);
            request_operation::begin();
        }
    }

    std::shared_ptr<recipes::withdrawable> ask(client_core& core, answer told) override
    {
        const auto guard = watched();
        place_ = guard->add(std::static_pointer_cast<commit_operation>(shared_from_this()));
        commit_ = nodes::commit(core.session, std::move(what_), nodes::claim(guard->acquisition(), guard->grant()),
                                std::move(told));
        return commit_;
    }

    void answered(error_code ec, commit_result result) override
    {
        leave_guard();
        complete(ec, std::move(result));
    }

    bool withdraw() override
    {
        const bool withdrawn = request_operation::withdraw();
        if (!pending() || withdrawn)
            leave_guard();
        return withdrawn;
    }

    // The client is closed: the lock was lost with its session.
    void end_as_closed() override
    {
        guard_.reset();
        complete(make_error_code(errc::lost), {});
    }

    void guard_lost() override { guard_ended(errc::lost); }
    void guard_released() override { guard_ended(errc::not_owner); }

    void guard_ended(errc why)
    {
        place_.reset();
        if (pending()) // or it has ended with its client
            commit_->end_unsent(why);
    }

    void leave_guard()
    {
        const auto place = std::exchange(place_, std::nullopt);
        if (const auto guard = watched(); guard && place)
            guard->remove(*place);
    }

    std::shared_ptr<guard_state> guard_; ///< until it begins
    transaction what_;
    nodes::handle commit_;
    std::optional<guard_state::watchers::iterator> place_; ///< while it is there
};

} // namespace

void start_create(std::shared_ptr<client_handle> client, std::string path, std::string data, node_kind kind,
                  std::optional<access_list> access, handler_of<std::string> handler)
{
    launch<&nodes::create>(client, "create ", std::move(path), std::move(handler), std::move(data), kind,
                           std::move(access));
}

void start_get(std::shared_ptr<client_handle> client, std::string path, handler_of<node_content> handler)
{
    launch<&nodes::get>(client, "get ", std::move(path), std::move(handler));
}

void start_set(std::shared_ptr<client_handle> client, std::string path, std::string data, std::int32_t version,
               handler_of<node_stat> handler)
{
    launch<&nodes::set>(client, "set ", std::move(path), std::move(handler), std::move(data), version);
}

void start_remove(std::shared_ptr<client_handle> client, std::string path, std::int32_t version, void_handler handler)
{
    launch<&nodes::remove>(client, "remove ", std::move(path), std::move(handler), version);
}

void start_children(std::shared_ptr<client_handle> client, std::string path,
                    handler_of<std::vector<std::string>> handler)
{
    launch<&nodes::children>(client, "list the children of ", std::move(path), std::move(handler));
}

void start_exists(std::shared_ptr<client_handle> client, std::string path, handler_of<std::optional<node_stat>> handler)
{
    launch<&nodes::exists>(client, "look for ", std::move(path), std::move(handler));
}

void start_get_acl(std::shared_ptr<client_handle> client, std::string path, handler_of<node_access> handler)
{
    launch<&nodes::get_acl>(client, "get the access list of ", std::move(path), std::move(handler));
}

void start_set_acl(std::shared_ptr<client_handle> client, std::string path, access_list access,
                   std::int32_t acl_version, void_handler handler)
{
    launch<&nodes::set_acl>(client, "set the access list of ", std::move(path), std::move(handler), std::move(access),
                            acl_version);
}

void start_commit(std::shared_ptr<client_handle> client, transaction what, commit_handler handler)
{
    auto ask = [what = std::move(what)](client_core& core, const std::string&, auto told) mutable {
        // Its operations have paths of their own.
        return nodes::commit(core.session, std::move(what), {}, std::move(told));
    };
    launch_request<commit_result>(client->state(), {}, std::move(ask), std::move(handler));
}

void start_guarded_commit(std::shared_ptr<client_state> owner, std::weak_ptr<guard_state> guard, transaction what,
                          commit_handler handler)
{
    if (!owner)
        return post_error(std::move(handler), errc::not_owner, commit_result());
    commit_operation::launch(
        std::make_shared<commit_operation>(guard.lock(), std::move(owner), std::move(what), std::move(handler)));
}

} // namespace zklock::detail

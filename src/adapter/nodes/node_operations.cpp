// The operations of a client on nodes, and transactions.
#include "zklock/detail/node_operations.hpp"
#include "adapter/client/denials.hpp"
#include "adapter/client/request_operation.hpp"
#include "adapter/locks/guard_state.hpp"
#include "recipes/session/option_faults.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zklock::detail {
namespace {

using nodes = recipes::node_operations;

/// `start` is called with the recipes' operations, the path and what is to be told of the answer.
template <class... Values, class Start>
void launch(const std::shared_ptr<client_handle>& client, const char* what, std::string path, Start start,
            asio::any_completion_handler<void(error_code, Values...)> handler)
{
    auto ask = [start = std::move(start)](client_core& core, const std::string& of, auto told) mutable {
        return start(core, of, std::move(told));
    };
    launch_request<Values...>(client->state(), {what, std::move(path)}, std::move(ask), std::move(handler));
}

/// The servers did not know somebody in that list. What is refused before it is sent, the recipes tell.
void log_refused_list(client_core& core, const std::string& path, const std::optional<access_list>& access)
{
    recipes::log_refusal(core.session, path, access, store::outcome::invalid_acl);
}

/// Has the log told if the servers refuse the list that a node is to have. `bytes`: what else is sent.
template <class... Values>
std::function<void(error_code, Values...)>
noting_refused_list(client_core& core, const std::string& path, const std::optional<access_list>& access,
                    std::size_t bytes, std::function<void(error_code, Values...)> told)
{
    const bool may_be_too_long = path.size() + bytes > store::largest_request / 2; // which is another reason
    if (!access || may_be_too_long || recipes::find_fault(access, core.session.options))
        return told;
    return [&core, path, access, told = std::move(told)](error_code ec, Values... values) {
        if (ec == errc::invalid_option)
            log_refused_list(core, path, access);
        told(ec, std::move(values)...);
    };
}

/// Has the log told which operation of a transaction the servers refuse for what it may not do, or for its list.
std::function<void(error_code, commit_result)> noting_refused(client_core& core, const transaction& what,
                                                              std::function<void(error_code, commit_result)> told)
{
    if (!core.session.log.on(log_level::error))
        return told;
    std::vector<transaction::operation> all;
    for (const auto& op : what.operations()) // without their data, which may be much
        all.push_back({op.what, op.path, {}, op.created, op.version, op.access});
    return [&core, all = std::move(all), told = std::move(told)](error_code ec, commit_result result) {
        if (!result.failed)
            log_denial(core, ec, "a transaction");
        else if (const auto& op = all[*result.failed]; ec == errc::invalid_option)
            log_refused_list(core, op.path, op.access);
        else
            log_denial(core, ec, to_string(op.what), " ", op.path, ", in a transaction");
        told(ec, std::move(result));
    };
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

    std::shared_ptr<recipes::user_request> ask(client_core& core, answer told) override
    {
        const auto guard = watched();
        place_ = guard->add(std::static_pointer_cast<commit_operation>(shared_from_this()));
        auto noted = noting_refused(core, what_, std::move(told));
        return core.nodes.commit(std::move(what_), nodes::claim(guard->acquisition(), guard->grant()),
                                 std::move(noted));
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
            request_->end_unsent(why);
    }

    void leave_guard()
    {
        const auto place = std::exchange(place_, std::nullopt);
        if (const auto guard = watched(); guard && place)
            guard->remove(*place);
    }

    std::shared_ptr<guard_state> guard_; ///< until it begins
    transaction what_;
    std::optional<guard_state::watchers::iterator> place_; ///< while it is there
};

} // namespace

void start_create(std::shared_ptr<client_handle> client, std::string path, std::string data, node_kind kind,
                  std::optional<access_list> access,
                  asio::any_completion_handler<void(error_code, std::string)> handler)
{
    launch<std::string>(
        client, "create ", std::move(path),
        [data = std::move(data), kind, access = std::move(access)](client_core& core, const std::string& at,
                                                                   auto told) {
            return core.nodes.create(at, data, kind, access,
                                     noting_refused_list(core, at, access, data.size(), std::move(told)));
        },
        std::move(handler));
}

void start_get(std::shared_ptr<client_handle> client, std::string path,
               asio::any_completion_handler<void(error_code, node_content)> handler)
{
    launch<node_content>(
        client, "get ", std::move(path),
        [](client_core& core, const std::string& at, auto told) { return core.nodes.get(at, std::move(told)); },
        std::move(handler));
}

void start_set(std::shared_ptr<client_handle> client, std::string path, std::string data, std::int32_t version,
               asio::any_completion_handler<void(error_code, node_stat)> handler)
{
    launch<node_stat>(
        client, "set ", std::move(path),
        [data = std::move(data), version](client_core& core, const std::string& at, auto told) {
            return core.nodes.set(at, data, version, std::move(told));
        },
        std::move(handler));
}

void start_remove(std::shared_ptr<client_handle> client, std::string path, std::int32_t version, void_handler handler)
{
    launch<>(
        client, "remove ", std::move(path),
        [version](client_core& core, const std::string& at, auto told) {
            return core.nodes.remove(at, version, std::move(told));
        },
        std::move(handler));
}

void start_children(std::shared_ptr<client_handle> client, std::string path,
                    asio::any_completion_handler<void(error_code, std::vector<std::string>)> handler)
{
    launch<std::vector<std::string>>(
        client, "list the children of ", std::move(path),
        [](client_core& core, const std::string& at, auto told) { return core.nodes.children(at, std::move(told)); },
        std::move(handler));
}

void start_exists(std::shared_ptr<client_handle> client, std::string path,
                  asio::any_completion_handler<void(error_code, std::optional<node_stat>)> handler)
{
    launch<std::optional<node_stat>>(
        client, "look for ", std::move(path),
        [](client_core& core, const std::string& at, auto told) { return core.nodes.exists(at, std::move(told)); },
        std::move(handler));
}

void start_get_acl(std::shared_ptr<client_handle> client, std::string path,
                   asio::any_completion_handler<void(error_code, node_access)> handler)
{
    launch<node_access>(
        client, "get the access list of ", std::move(path),
        [](client_core& core, const std::string& at, auto told) { return core.nodes.get_acl(at, std::move(told)); },
        std::move(handler));
}

void start_set_acl(std::shared_ptr<client_handle> client, std::string path, access_list access,
                   std::int32_t acl_version, void_handler handler)
{
    launch<>(
        client, "set the access list of ", std::move(path),
        [access = std::optional(std::move(access)), acl_version](client_core& core, const std::string& at, auto told) {
            return core.nodes.set_acl(at, *access, acl_version,
                                      noting_refused_list(core, at, access, 0, std::move(told)));
        },
        std::move(handler));
}

void start_commit(std::shared_ptr<client_handle> client, transaction what, commit_handler handler)
{
    // Its operations have paths of their own.
    launch<commit_result>(
        client, nullptr, {},
        [what = std::move(what)](client_core& core, const std::string&, auto told) mutable {
            auto noted = noting_refused(core, what, std::move(told));
            return core.nodes.commit(std::move(what), std::move(noted));
        },
        std::move(handler));
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

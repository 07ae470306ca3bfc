#pragma once
#include "zklock/detail/operations.hpp"
#include "zklock/node.hpp"
#include "zklock/transaction.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// A client's operations on nodes: what each is asked, and the compiled function that starts it.

namespace zklock::detail {

struct create_node {
    using signature = void(error_code, std::string);
    std::string path;
    std::string data;
    node_kind kind;
};
struct get_node {
    using signature = void(error_code, node_content);
    std::string path;
};
struct set_node {
    using signature = void(error_code, node_stat);
    std::string path;
    std::string data;
    std::int32_t version;
};
struct remove_node {
    using signature = void(error_code);
    std::string path;
    std::int32_t version;
};
struct list_children {
    using signature = void(error_code, std::vector<std::string>);
    std::string path;
};
struct look_for_node {
    using signature = void(error_code, std::optional<node_stat>);
    std::string path;
};
struct commit_transaction {
    using signature = void(error_code, commit_result);
    transaction what;
};

template <class Request> using request_handler = asio::any_completion_handler<typename Request::signature>;

void start_request(std::shared_ptr<client_handle>, create_node, request_handler<create_node>);
void start_request(std::shared_ptr<client_handle>, get_node, request_handler<get_node>);
void start_request(std::shared_ptr<client_handle>, set_node, request_handler<set_node>);
void start_request(std::shared_ptr<client_handle>, remove_node, request_handler<remove_node>);
void start_request(std::shared_ptr<client_handle>, list_children, request_handler<list_children>);
void start_request(std::shared_ptr<client_handle>, look_for_node, request_handler<look_for_node>);
void start_request(std::shared_ptr<client_handle>, commit_transaction, request_handler<commit_transaction>);
/// `guard` is null for one that is empty, or has gone; `owner` for one that was empty.
void start_guarded_commit(std::shared_ptr<guard_state> guard, std::shared_ptr<client_state> owner, transaction,
                          request_handler<commit_transaction>);

/// The initiation of any of them; see operations.hpp.
template <class Request> class initiate_request {
public:
    using executor_type = asio::any_io_executor;
    initiate_request(std::shared_ptr<client_handle> client, Request request)
        : client_(std::move(client)), request_(std::move(request))
    {
    }
    [[nodiscard]] executor_type get_executor() const { return executor_of(client_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        start_request(std::move(client_), std::move(request_),
                      request_handler<Request>(std::forward<Handler>(handler)));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        start_request(client_, request_, request_handler<Request>(std::forward<Handler>(handler)));
    }

private:
    std::shared_ptr<client_handle> client_;
    Request request_;
};

/// As with async_initiate, `Token` is named: a handler that the caller keeps is copied, not moved from.
template <class Token, class Request>
[[nodiscard]] auto begin_request(const std::shared_ptr<client_handle>& client, Request request, Token& token)
{
    return asio::async_initiate<Token, typename Request::signature>(
        initiate_request<Request>(client, std::move(request)), token);
}

class initiate_guarded_commit {
public:
    using executor_type = asio::any_io_executor;
    initiate_guarded_commit(const std::shared_ptr<guard_state>& guard, transaction what)
        : guard_(guard), owner_(client_of(guard)), what_(std::move(what))
    {
    }
    [[nodiscard]] executor_type get_executor() const { return executor_of(owner_); }

    template <class Handler> void operator()(Handler&& handler) &&
    {
        start_guarded_commit(guard_.lock(), std::move(owner_), std::move(what_),
                             request_handler<commit_transaction>(std::forward<Handler>(handler)));
    }
    template <class Handler> void operator()(Handler&& handler) const&
    {
        start_guarded_commit(guard_.lock(), owner_, what_,
                             request_handler<commit_transaction>(std::forward<Handler>(handler)));
    }

private:
    std::weak_ptr<guard_state> guard_; // a commit that was not started does not keep the lock
    std::shared_ptr<client_state> owner_;
    transaction what_;
};

} // namespace zklock::detail

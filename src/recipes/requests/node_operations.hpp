#pragma once
#include "queue/node_path.hpp"
#include "recipes/acquisition/acquisition.hpp"
#include "recipes/requests/node_operation.hpp"
#include "zklock/node.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::recipes {

/// What is wrong with the path of a node that is to be created. A number follows a sequential node's path, and its last
/// component may be empty.
[[nodiscard]] queue::path_fault fault_to_create(const std::string& path, node_kind);
/// Or with the path of one that there may be. The root is the client's chroot.
[[nodiscard]] queue::path_fault fault_to_use(const std::string& path);
/// Why nothing can be asked about the node of that path, whatever the servers would say, if that is so; the log has it.
/// `fault`: what is wrong with the path; `bytes`: what else is sent.
[[nodiscard]] std::optional<errc> why_not_sent(session&, const std::string& path, queue::path_fault fault,
                                               std::size_t bytes);

/// A user's own operations on the nodes, and transactions, alone or guarded by a lock. Each waits for a connection, and
/// in the client's line; none is sent twice unless it is a read, or it is certain that the servers did not do it. A
/// user's function is never called inside the call. They have the strand and lifetime of the session.
class node_operations {
public:
    template <class... Values> using done_function = std::function<void(error_code, Values...)>;
    using handle = std::shared_ptr<user_request>;

    explicit node_operations(session& s) : session_(s) {}
    node_operations(const node_operations&) = delete;
    node_operations& operator=(const node_operations&) = delete;

    handle create(const std::string& path, const std::string& data, node_kind, const std::optional<access_list>&,
                  done_function<std::string>);
    handle get(const std::string& path, done_function<node_content>);
    handle set(const std::string& path, const std::string& data, std::int32_t version, done_function<node_stat>);
    handle remove(const std::string& path, std::int32_t version, done_function<>);
    handle children(const std::string& path, done_function<std::vector<std::string>>);
    handle exists(const std::string& path, done_function<std::optional<node_stat>>);
    handle get_acl(const std::string& path, done_function<node_access>);
    handle set_acl(const std::string& path, const access_list&, std::int32_t acl_version, done_function<>);
    /// The lock that guards a transaction. That is sent only while the lock is held, and done only if all nodes that
    /// the lock had then still exist.
    struct claim {
        std::shared_ptr<const acquisition> lock;
        grant given;

        [[nodiscard]] std::vector<transaction::operation> checks() const;
    };
    /// It ends with `errc::lost` if the lock is not held any more, by this client's knowledge or the servers'.
    handle commit(transaction, std::optional<claim>, done_function<commit_result>);
    handle commit(transaction t, done_function<commit_result> d) { return commit(std::move(t), {}, std::move(d)); }

private:
    struct commitment;

    template <class... Values, class Send>
    handle begin(bool writes, std::optional<errc> why_not, std::size_t bytes, done_function<Values...>, Send);
    template <class... Values, class Send> handle read(const std::string& path, done_function<Values...>, Send);
    /// One whose failure a log of all lines has.
    template <class... Values, class Send>
    handle write(std::string_view what, const std::string& path, std::optional<errc> why_not, std::size_t bytes,
                 done_function<Values...>, Send);
    [[nodiscard]] done_function<commit_result> logged(const std::shared_ptr<commitment>&,
                                                      done_function<commit_result>) const;
    void send(const std::shared_ptr<commitment>&, node_operation<commit_result>&);
    void on_committed(const commitment&, node_operation<commit_result>&, const store::batch_reply&);
    /// Why it cannot be sent, whatever the servers would say; the log has it.
    [[nodiscard]] std::optional<errc> check(const std::string& path, const std::optional<access_list>&) const;
    [[nodiscard]] std::optional<errc> check(const transaction&, std::size_t bytes) const;
    /// How many bytes that list takes in a request, or the client's where there is none.
    [[nodiscard]] std::size_t size_of(const std::optional<access_list>&) const;
    [[nodiscard]] std::size_t size_of(const transaction::operation&) const;
    [[nodiscard]] std::size_t size_of(const transaction&) const;

    session& session_;
};

} // namespace zklock::recipes

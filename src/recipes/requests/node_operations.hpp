#pragma once
#include "queue/node_path.hpp"
#include "recipes/acquisition/acquisition.hpp"
#include "recipes/session/session.hpp"
#include "zklock/node.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// A user's own operations on the nodes, and transactions, alone or guarded by a lock. Each waits for a connection, and
// in the client's line; none is sent twice unless it is a read, or it is certain that the servers did not do it. A
// user's function is never called inside the call.

namespace zklock::recipes {

/// What is wrong with the path of a node that there may be. The root is the client's chroot.
[[nodiscard]] queue::path_fault fault_to_use(const std::string& path);
/// Why nothing can be asked about the node of that path, whatever the servers would say, if that is so; the log has it.
/// `fault`: what is wrong with the path; `bytes`: what else is sent.
[[nodiscard]] std::optional<errc> why_not_sent(session&, const std::string& path, queue::path_fault fault,
                                               std::size_t bytes);

namespace nodes {

template <class... Values> using done_function = std::function<void(error_code, Values...)>;
using handle = std::shared_ptr<user_request>;

handle create(session&, const std::string& path, const std::string& data, node_kind, const std::optional<access_list>&,
              done_function<std::string>);
handle get(session&, const std::string& path, done_function<node_content>);
handle set(session&, const std::string& path, const std::string& data, std::int32_t version, done_function<node_stat>);
handle remove(session&, const std::string& path, std::int32_t version, done_function<>);
handle children(session&, const std::string& path, done_function<std::vector<std::string>>);
handle exists(session&, const std::string& path, done_function<std::optional<node_stat>>);
handle get_acl(session&, const std::string& path, done_function<node_access>);
handle set_acl(session&, const std::string& path, const access_list&, std::int32_t acl_version, done_function<>);
/// The lock that guards a transaction. That is sent only while the lock is held, and done only if all nodes that the
/// lock had then still exist.
struct claim {
    std::shared_ptr<const acquisition> lock;
    grant given;

    [[nodiscard]] std::vector<transaction::operation> checks() const;
};
/// It ends with `errc::lost` if the lock is not held any more, by this client's knowledge or the servers'.
handle commit(session&, transaction, std::optional<claim>, done_function<commit_result>);

} // namespace nodes
} // namespace zklock::recipes

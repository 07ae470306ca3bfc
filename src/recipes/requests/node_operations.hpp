#pragma once
#include "recipes/acquisition.hpp"
#include "recipes/requests/node_operation.hpp"
#include "zklock/node.hpp"
#include "zklock/transaction.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zklock::recipes {

/// A user's own operations on the nodes, and transactions, alone or guarded by a lock. Each waits for a connection, and
/// in the client's line; none is sent twice unless it is a read, or it is certain that the servers did not do it. A
/// user's function is never called inside the call. Same strand and lifetime as the session.
class node_operations {
public:
    template <class... Values> using done = std::function<void(error_code, Values...)>;
    using handle = std::shared_ptr<user_request>;

    explicit node_operations(session& s) : session_(s) {}
    node_operations(const node_operations&) = delete;
    node_operations& operator=(const node_operations&) = delete;

    handle create(const std::string& path, const std::string& data, node_kind, done<std::string>);
    handle get(const std::string& path, done<node_content>);
    handle set(const std::string& path, const std::string& data, std::int32_t version, done<node_stat>);
    handle remove(const std::string& path, std::int32_t version, done<>);
    handle children(const std::string& path, done<std::vector<std::string>>);
    handle exists(const std::string& path, done<std::optional<node_stat>>);
    handle commit(transaction, done<commit_result>);

    /// What guards a transaction: it is sent only while the lock is held, and done only while all nodes exist that the
    /// lock has when it is sent.
    struct claim {
        std::shared_ptr<const acquisition> lock;
        grant given;

        [[nodiscard]] std::vector<transaction::operation> checks() const;
    };
    /// `errc::lost` if the lock is not held any more, by this client's knowledge or the servers'.
    handle commit(transaction, claim, done<commit_result>);

private:
    template <class... Values, class Send>
    handle begin(typename node_operation<Values...>::access, std::optional<errc> objection, std::size_t bytes,
                 done<Values...>, Send);
    handle commit_guarded(transaction, std::shared_ptr<const claim>, done<commit_result>);
    [[nodiscard]] std::optional<errc> objection(const std::string& path, std::size_t bytes = 0) const;
    [[nodiscard]] std::optional<errc> objection(const transaction&, std::size_t bytes) const;
    [[nodiscard]] std::size_t size_of(const transaction::operation&) const;
    [[nodiscard]] std::size_t size_of(const transaction&) const;

    session& session_;
};

} // namespace zklock::recipes

#pragma once
#include "recipes/requests/contender_list.hpp"
#include "recipes/requests/revocation.hpp"
#include "recipes/session/session.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace zklock::recipes {

/// What users ask about those who queue, of this client and others. Each waits for a connection, and in the client's
/// line. The session has the same strand, and outlives them.
class queue_requests {
public:
    explicit queue_requests(session& s) : session_(s) {}
    queue_requests(const queue_requests&) = delete;
    queue_requests& operator=(const queue_requests&) = delete;

    /// Reads the queue of a path, in its order; or its first contenders, so many at most.
    std::shared_ptr<user_request> contenders(const std::string& path, contender_list::done_function,
                                             list_kind what = list_kind::queue, std::size_t most = contender_list::all);

    /// Asks the contender of `node` on that path, of whatever client, to let go; the answer is 0 if it is gone.
    /// It ends with `errc::invalid_path` if the node is not one of those that such a list names.
    std::shared_ptr<user_request> revoke(const std::string& path, const std::string& node, revocation::done_function,
                                         list_kind what = list_kind::queue);
    /// Asks all who hold the lock of a path to let go: one, or all readers, or all who have permits. The answer is how
    /// many nodes were asked.
    std::shared_ptr<user_request> revoke_holders(const std::string& path, revocation::done_function,
                                                 list_kind what = list_kind::queue);

private:
    session& session_;
};

} // namespace zklock::recipes

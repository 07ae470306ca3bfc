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
/// line. Same strand as the session, which outlives it.
class queue_requests {
public:
    explicit queue_requests(session& s) : session_(s) {}
    queue_requests(const queue_requests&) = delete;
    queue_requests& operator=(const queue_requests&) = delete;

    /// Reads the queue of a path, in its order; or its first contenders, so many at most.
    std::shared_ptr<user_request> contenders(const std::string& path, contender_list::done done,
                                             listed what = listed::queue, std::size_t most = contender_list::all);

    /// Asks the contender of `node` on that path, whoever's it is, to let go: `errc::invalid_path` for other nodes.
    /// `done` gets 0 if it is gone.
    std::shared_ptr<user_request> revoke(const std::string& path, const std::string& node, revocation::done done,
                                         listed what = listed::queue);
    /// Asks whoever holds the lock of a path: one, or all readers, or all leases. `done` gets how many were asked.
    std::shared_ptr<user_request> revoke_holders(const std::string& path, revocation::done done,
                                                 listed what = listed::queue);

private:
    std::shared_ptr<user_request> begin(std::shared_ptr<user_request>, std::optional<errc> objection);

    session& session_;
};

} // namespace zklock::recipes

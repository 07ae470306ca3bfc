#pragma once
#include "recipes/session/session_part.hpp"

#include <cstddef>
#include <deque>

namespace zklock::recipes {

class session_member;

/// The node budget of a session, and the members that wait for room in it: bytes of the paths that the session's end
/// would list. A session whose end lists more than the servers can read (2 x jute.maxbuffer, 2 MiB by default) leaves
/// its ensemble unable to serve ever again.
class budget_line : session_part {
public:
    enum class verdict { granted, wait, exhausted };

    using session_part::session_part;

    /// Beyond `client_options::node_budget` only a path's first contender gets a node, beyond its limit nobody.
    [[nodiscard]] verdict reserve(std::size_t bytes, bool first_of_path);
    void release(std::size_t bytes);
    /// The member has contenders without a node, for want of budget.
    void wait(session_member&);
    /// Those contenders do not wait any more: a member behind this one may find room.
    void leave(session_member&);
    /// That member goes.
    void forget(session_member&) noexcept;

    /// What one path takes in the transaction that ends a session: a length and the bytes.
    [[nodiscard]] static std::size_t cost(std::size_t path_length) { return path_length + 4; }

private:
    void share_soon();
    void share();

    std::size_t used_ = 0;
    std::deque<session_member*> waiting_;
    bool shares_soon_ = false;
};

} // namespace zklock::recipes

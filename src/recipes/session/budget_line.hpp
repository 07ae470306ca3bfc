#pragma once
#include "recipes/session/node_budget.hpp"

#include <cstddef>
#include <deque>

namespace zklock::recipes {

class session;
class session_member;

/// The node budget of a session, and the members that wait for room in it.
class budget_line {
public:
    explicit budget_line(session&);
    budget_line(const budget_line&) = delete;
    budget_line& operator=(const budget_line&) = delete;

    [[nodiscard]] node_budget::verdict reserve(std::size_t bytes, bool first_of_path);
    void release(std::size_t bytes);
    /// The member has contenders without a node, for want of budget.
    void wait(session_member&);
    /// Those contenders do not wait any more: a member behind this one may find room.
    void leave(session_member&);
    /// That member goes.
    void forget(session_member&) noexcept;

private:
    void share_soon();
    void share();

    session& session_;
    node_budget budget_;
    std::deque<session_member*> waiting_;
    bool shares_soon_ = false;
};

} // namespace zklock::recipes

#pragma once
#include "recipes/locks/path_part.hpp"
#include "recipes/session/group_commit.hpp"

#include <cstddef>
#include <cstdint>

namespace zklock::recipes {

inline constexpr unsigned grants_of_a_czxid = 4096; ///< grants that the tokens of one czxid can tell apart

/// The nodes of a lock_path's contenders: created within the node budget, numbered, left to linger for a while and
/// deleted, by way of group_commit.
class lock_nodes final : private path_part, private write_source {
public:
    /// `node_cost`: of one node, in the node budget.
    lock_nodes(const path_part& part, std::size_t node_cost) : path_part(part), node_cost_(node_cost) {}
    ~lock_nodes();

    /// A step is complete: puts the next create into the line of group_commit.
    void settle();
    void remove(queue::contender_id id, bool urgent) { session_.writes().remove(*this, id, urgent); }
    /// From now on a node lingers.
    void begin_to_linger();
    void take_back_unsent();
    void budget_freed();
    /// One of the contenders waits for room in the node budget.
    [[nodiscard]] bool waits_for_budget() const noexcept { return wants_budget_; }
    /// Takes the token from the czxid of the contender's node, and checks it.
    void take_czxid(lock_contender&, std::int64_t czxid);

private:
    bool prepare(node_write&) override;
    void create_goes_again(queue::contender_id) override;
    void on_created(queue::contender_id, const store::create_reply&) override;
    void on_removed(queue::contender_id, store::outcome) override;
    void expect_czxid() override;
    void on_czxid(const node_write&, std::int64_t czxid) override;
    void writes_sent() override;
    void writes_answered() override;

    [[nodiscard]] bool prepare_delete(node_write&);
    [[nodiscard]] bool prepare_create(node_write&);
    [[nodiscard]] queue::contender_id next_to_create();
    bool may_attempt(lock_contender&);
    bool reserve(lock_contender&);
    void create(lock_contender&, node_write&);
    void out_of_numbers(lock_contender&, errc why);
    void plan_end_of_lingering();

    const std::size_t node_cost_;
    lock_contender* last_of_batch_ = nullptr; ///< whose create went into the transaction that is being gathered
    bool wants_budget_ = false;
    store::scheduler::time_point lingers_since_{};
    store::scheduler::timer_id linger_timer_ = 0;
};

} // namespace zklock::recipes

#pragma once
#include "recipes/group_commit.hpp"
#include "recipes/lease.hpp"
#include "recipes/node_budget.hpp"
#include "store/scheduler.hpp"
#include "store/store.hpp"
#include "zklock/client_options.hpp"
#include "zklock/errc.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zklock::recipes {

class lock_path;

/// What the lock paths of one client share: the lease with its heartbeat (which goes on while nobody waits or holds, so that
/// a lock can be granted by the first answer), the node budget, and the way out for news.
class session_core {
public:
    session_core(store::store&, store::scheduler&, const client_options&, std::function<std::string()> new_uuid);
    ~session_core();
    session_core(const session_core&) = delete;
    session_core& operator=(const session_core&) = delete;

    store::store& store;
    store::scheduler& scheduler;
    const client_options options;
    const std::function<std::string()> new_uuid;

    /// Takes note of an outcome that is unknown: nothing is sent any more in this epoch, whose end is on its way.
    void contact_lost();

    /// Of the current session; 0 when there is none.
    std::int64_t session_id = 0;
    bool connected = false; ///< and no answer has been lost
    /// Why nothing can be done any more, once that is so.
    std::optional<errc> over;

    /// Calls `news` soon, after what is running now and in the order of the calls. Everything users are told goes this way,
    /// so that whatever they do about it finds the protocol at rest.
    void tell(std::function<void()> news);
    [[nodiscard]] bool has_news() const noexcept { return !news_.empty(); }

    // --- lease ------------------------------------------------------------------------------------------------------

    [[nodiscard]] bool lease_fresh() const { return lease_.fresh(scheduler.now()); }
    [[nodiscard]] const std::shared_ptr<const lease_term>& term() const noexcept { return lease_.term(); }
    [[nodiscard]] lease::duration loss_notice() const noexcept { return lease_.notice(); }
    /// The lease cannot last from one heartbeat to the next: the margin and the notice take too much of it.
    [[nodiscard]] bool lease_impossible() const noexcept { return lease_.remainder() <= lease_.notice(); }

    /// Takes note of an answer that came through the leader: to a write or a sync. A follower cut off from its leader
    /// answers reads for a while, although the leader may have ended the session.
    void heard(const store::reply&);

    /// Tells the holders if the lease has ended meanwhile: before anything renews it, or a release hides it. The timer for
    /// that may be late, when the process was not running.
    void notice_lapse(store::scheduler::time_point now);

    /// The path's lock was granted: the end of the lease matters from now on, and whether somebody else deletes the node.
    void granted(lock_path&);

    /// Calls `f` after a while, unless the session is destroyed before.
    void later(lease_clock::duration, std::function<void()> f);

    // --- node budget --------------------------------------------------------------------------------------------------

    [[nodiscard]] node_budget::verdict reserve(std::size_t bytes, bool first_of_path);
    void release(std::size_t bytes);
    /// The path has contenders without a node, for want of budget.
    void wait_for_budget(lock_path&);

    // --- called by the session ----------------------------------------------------------------------------------------

    void on_connected(const store::connect_reply&);
    void on_disconnected();
    void on_expired();
    void stop(errc why); ///< nothing will be sent any more
    void add(lock_path&);
    void remove(lock_path&);

    /// Paths, in the order in which they came into use; a copy, because they may go while it is gone through.
    [[nodiscard]] std::vector<lock_path*> paths() const { return {paths_.begin(), paths_.end()}; }

    group_commit writes{*this};

private:
    void deliver_news();
    void share_budget();
    void beat();
    void plan_beat();
    void watch_lease();
    void plan_lease_watch();
    void look_for_long_holders();
    void plan(store::scheduler::timer_id& timer, store::scheduler::time_point when, void (session_core::*what)());

    lease lease_;
    node_budget budget_;
    std::list<lock_path*> paths_;
    std::deque<lock_path*> wanting_budget_;
    bool budget_freed_ = false;
    std::deque<std::function<void()>> news_;
    bool delivering_ = false;
    bool beating_ = false; ///< a sync is under way
    store::scheduler::timer_id beat_timer_ = 0;
    store::scheduler::timer_id lease_timer_ = 0;
    store::scheduler::timer_id holders_timer_ = 0;
    std::vector<lock_path*> held_paths_; ///< granted lately
    /// Whether posted functions may still touch this object.
    std::shared_ptr<session_core*> alive_;
};

} // namespace zklock::recipes

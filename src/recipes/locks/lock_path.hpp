#pragma once
#include "queue/lock_queue.hpp"
#include "recipes/locks/contender_table.hpp"
#include "recipes/locks/holder_look.hpp"
#include "recipes/locks/path_handoffs.hpp"
#include "recipes/session/gathered_looks.hpp"
#include "recipes/session/write_source.hpp"
#include "recipes/session/recipe_path.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::recipes {

/// What holds for a path, not for one contender: all that use the path at the same time have to agree.
struct path_options {
    naming names = naming::curator;
    std::chrono::milliseconds linger{0};
    unsigned cohort = 1;
    bool shared = false; ///< contenders are readers and writers
    queue::name_rules rules; ///< of `mark` and `also_heeds`

    path_options(const shared_options& o, queue::contender_kind kind)
        : names(o->names), linger(o->linger), cohort(o->cohort), shared(kind != queue::contender_kind::mutex),
          rules(o.rules())
    {
    }
    friend bool operator==(const path_options&, const path_options&) = default;
};

inline constexpr unsigned grants_of_a_czxid = 4096; ///< grants that the tokens of one czxid can tell apart

/// All contenders of one client for the lock of one path. It carries out what the lock_queue decides: it sends the
/// queue's requests, hands it the answers, and tells the callers. Creates and deletes go by way of group_commit.
class lock_path final : public recipe_path, private write_source {
public:
    /// `idle` is called, later, when nobody needs the path any more.
    lock_path(session&, std::string path, path_options, std::function<void()> idle);
    ~lock_path() override;
    lock_path(const lock_path&) = delete;
    lock_path& operator=(const lock_path&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] const path_options& options() const noexcept { return options_; }
    [[nodiscard]] bool idle() const noexcept override;
    /// All that is left to do is to delete nodes: nobody holds the lock or waits for it, and no node lingers.
    [[nodiscard]] bool only_leaving() const noexcept;
    [[nodiscard]] bool finished() const noexcept override
    {
        return idle() && !queue_.watches_parent() && !parents_.made.any();
    }
    void give_way() override;

    std::shared_ptr<acquisition> acquire(queue::contender_id, acquire_request&&);
    /// An acquire with these very options is nothing new here: they have no fault, and are those of the path.
    [[nodiscard]] bool took(const shared_options& options, queue::contender_kind kind) const noexcept
    {
        return taken_ && taken_->is(options) && taken_kind_ == kind;
    }
    void note_taken(const shared_options& options, queue::contender_kind kind) noexcept
    {
        taken_ = options;
        taken_kind_ = kind;
    }

    // --- called by its contenders -----------------------------------------------------------------------------------

    /// The caller of the contender wants no more of it.
    void leave(lock_contender&);
    /// The contender holds, and wants to know when others ask it to let go, or whether they have.
    void watch_for_revocation(lock_contender&);
    /// A writer wants to go on as a reader.
    void downgrade(lock_contender&);
    /// The contender's deadline is near. Looks once, for all who wait, at who holds the lock.
    void look_at_holder(const lock_contender&);
    /// Tells who is before the contender now.
    [[nodiscard]] known_wait describe_wait(const lock_contender&) const;
    /// Ends the contender's wait, with `why`, if it waits.
    void give_up(lock_contender&, errc why);

    // --- called by the session ---------------------------------------------------------------------------------------

    void epoch_began() override;
    void contact_lost() override { queue_.contact_lost(); }
    void refuse_all(errc why) override;
    void epoch_ended() override;
    void session_ended() override;
    void session_overdue() override;
    void lease_lapsed() override;
    void stop(errc why) override;
    bool notice_long_holder(store::scheduler::time_point now) override;
    void advance() override;
    void budget_freed() override;
    [[nodiscard]] bool watches_child(std::string_view, std::string_view child) const override
    {
        return queue_.is_watched(child);
    }
    [[nodiscard]] bool owns_child(std::string_view, std::string_view child) const override
    {
        return queue_.owns(child);
    }
    [[nodiscard]] bool misses_child(std::string_view, const std::set<std::string_view>& names) const override
    {
        return queue_.misses_any(names);
    }
    void on_own_event(store::event_kind, std::string_view path) override;
    void on_node_event(store::event_kind, std::string_view path, std::string_view node) override;

private:
    using contender_ptr = contender_table::contender_ptr;

    // --- called by group_commit --------------------------------------------------------------------------------------

    bool prepare(node_write&) override;
    void create_goes_again(queue::contender_id) override;
    void on_created(queue::contender_id, const store::create_reply&) override;
    void on_removed(queue::contender_id, store::outcome) override;
    void expect_czxid() override { answer_due(); }
    void on_czxid(const node_write&, std::int64_t czxid) override;
    void writes_sent() override;
    void writes_answered() override { carry_out_decisions(); }

    // -----------------------------------------------------------------------------------------------------------------

    [[nodiscard]] const std::string& own_path() const noexcept override { return path_; }
    void own_path_gone() override { queue_.parent_absent(); }
    void retire_the_rest() override;
    void look(const contender_ptr&);
    void send_looks();
    struct what_is_seen {
        const store::children_reply& answer;
        std::uint64_t grants; ///< the catching up that went before; see catch_up::behind_handoffs()
        std::array<std::optional<bool>, queue::contender_kinds> busy; ///< for each kind of contender, once it is known
    };
    void on_look(lock_contender&, what_is_seen&);
    [[nodiscard]] bool overtaken(const lock_contender&) const;
    void refuse(lock_contender&, errc why);
    void refuse_as_busy(lock_contender&, bool for_others);
    void carry_out_decisions();
    [[nodiscard]] bool prepare_delete(node_write&);
    [[nodiscard]] bool prepare_create(node_write&);
    [[nodiscard]] queue::contender_id next_to_create();
    bool may_attempt(lock_contender&);
    void create(lock_contender&, node_write&);
    bool reserve(lock_contender&);
    void make_path(parent_kind, const std::optional<access_list>&);
    /// `now` is read where there may be a grant.
    void carry_out(const queue::action&, store::scheduler::time_point now);
    void send_read(bool watch);
    void send_parent_watch();
    void send_unwatch();
    void send_unwatch(const std::string& node);
    void send_remove_parent();
    void send_inspect(const contender_ptr&, const std::string& node);
    void send_watch(const std::string& node);
    void send_downgrade(const contender_ptr&, const std::string& node, std::string_view data, std::int32_t version);
    void downgrade_as_found(const contender_ptr&, const std::string& node);
    void look_for_downgraded(const contender_ptr&, const std::string& node, errc refused);
    /// The node of the contender, if it holds, or else nothing.
    [[nodiscard]] std::string_view node_of_holder(queue::contender_id) const;
    void note_deletion(std::string_view node);
    void notice_refusal(store::outcome);
    void look_at_data(const std::string& node, std::string_view data);
    void start_remove(const queue::action&);
    void forget_look() noexcept;
    void plan_end_of_lingering();
    void end_lingering();
    /// Takes the token from the czxid of the contender's node, and checks it.
    void take_czxid(lock_contender&, std::int64_t czxid);
    void out_of_numbers(lock_contender&, errc why);
    void grant(lock_contender&, const queue::action&, store::scheduler::time_point now);
    void log_handoff(const lock_contender&) const noexcept;
    void forget(queue::contender_id);
    /// The contender's node is gone.
    void end_release(lock_contender&, std::string_view node);
    /// Ends the wait of all, or only of those who wait like that.
    void fail_waiting(errc why, std::optional<acquire_mode> only = {});
    [[nodiscard]] std::string full(std::string_view node) const;

    /// The number in the name of a node; empty if that is no contender.
    [[nodiscard]] std::optional<std::int32_t> sequence_of(std::string_view node) const noexcept
    {
        return options_.rules.sequence_of(node);
    }

    const std::string path_;
    const path_options options_;
    const std::size_t node_cost_; ///< of one node, in the node budget
    parent_kind parent_kind_ = parent_kind::container; ///< as the last acquire wants it
    std::optional<access_list> access_;                ///< of the path, as the last acquire wants it
    std::optional<shared_options> taken_; ///< those of the last acquire
    queue::contender_kind taken_kind_{};
    std::shared_ptr<holder_look> look_; ///< at who holds the lock, or has held it
    gathered_looks<contender_ptr> looks_; ///< at whether the lock is free
    store::scheduler::time_point lingers_since_{};
    store::scheduler::timer_id linger_timer_ = 0;
    // What each step looks at stands together, beside what the queue looks at.
    contender_table contenders_;
    lock_contender* last_of_batch_ = nullptr; ///< whose create went into the transaction that is being gathered
    bool wants_budget_ = false;
    bool listens_ = true; ///< to the path's own node
    queue::lock_queue queue_;
    const std::unique_ptr<path_handoffs> handoffs_; ///< null if the client has none
};

} // namespace zklock::recipes

#pragma once
#include "queue/lock_queue.hpp"
#include "queue/node_path.hpp"
#include "recipes/locks/contender_table.hpp"
#include "recipes/locks/holder_report.hpp"
#include "recipes/locks/lock_looks.hpp"
#include "recipes/locks/lock_nodes.hpp"
#include "recipes/locks/lock_requests.hpp"
#include "recipes/locks/path_handoffs.hpp"
#include "recipes/session/recipe_path.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::recipes {

/// What holds for a path, not for one contender: all that use the path at the same time have to agree.
struct path_options {
    naming names = naming::curator;
    std::chrono::milliseconds linger{0};
    unsigned cohort = 1;
    bool shared = false;     ///< contenders are readers and writers
    queue::name_rules rules; ///< of `mark` and `also_heeds`

    path_options(const shared_options& o, queue::contender_kind kind)
        : names(o->names), linger(o->linger), cohort(o->cohort), shared(kind != queue::contender_kind::mutex),
          rules(o->rules)
    {
    }
    friend bool operator==(const path_options&, const path_options&) = default;
};

/// What is wrong with the options of a lock. `identifier` is the one that is used: the client's, if they have none.
[[nodiscard]] std::optional<option_fault> find_fault(const mutex_options&, std::string_view identifier);
/// The option by which one who comes names contenders otherwise than those who are there, if there is one. `where` is
/// said of theirs.
[[nodiscard]] std::optional<option_fault> contradiction_in_names(naming there, const queue::name_rules& rules_there,
                                                                 naming wanted, const queue::name_rules& rules_wanted,
                                                                 std::string_view where);
/// The option by which one who comes to a path contradicts those who are there.
[[nodiscard]] option_fault contradiction(const path_options& there, const path_options& wanted);

/// All contenders of one client for the lock of one path. It carries out what the lock_queue decides, and tells the
/// callers. What the queue asks the servers, lock_requests and lock_nodes send, who hand it the answers.
class lock_path final : public recipe_path {
public:
    /// `idle` is called, later, when nobody needs the path any more.
    lock_path(session&, std::string path, path_options, std::function<void()> idle);
    ~lock_path() override;
    lock_path& operator=(lock_path&&) = delete;

    [[nodiscard]] const path_options& options() const noexcept { return options_; }
    [[nodiscard]] bool idle() const noexcept override;
    /// Nobody holds the lock or waits for it: at most nodes are to be deleted, or the path is being made.
    [[nodiscard]] bool only_leaving() const noexcept;
    /// A node of that one lingers no longer: its own kind comes no more.
    void give_up_lingering() override;
    [[nodiscard]] bool finished() const noexcept override
    {
        return idle() && !queue_.known().parent().watched() && !parents_.made.any();
    }
    void give_way() override;

    std::shared_ptr<acquisition> acquire(queue::contender_id, acquire_request&&);
    /// An acquire with these very options is nothing new here: they have no fault, and are those of the path.
    [[nodiscard]] bool took(const shared_options& options, queue::contender_kind kind) const noexcept
    {
        return taken_ == options && taken_kind_ == kind;
    }

    // --- called by its contenders -----------------------------------------------------------------------------------

    /// The caller of the contender wants no more of it.
    void leave(lock_contender&);
    /// The contender holds, and wants to know when others ask it to let go, or whether they have.
    void watch(lock_contender&);
    void look_for_holder(const lock_contender& contender) { holder_.look_for(contender); }
    /// A writer wants to go on as a reader.
    void downgrade(lock_contender&);
    [[nodiscard]] holder_report& holder() noexcept { return holder_; }

    // --- called by the session ---------------------------------------------------------------------------------------

    void epoch_began() override;
    void contact_lost() override { queue_.contact_lost(); }
    void refuse_all(errc why) override;
    void refuse_tries() override;
    void epoch_ended() override;
    void session_ended() override;
    void session_overdue() override;
    void lease_lapsed() override;
    void stop(errc why) override;
    bool notice_long_holder(store::scheduler::time_point now) override;
    void advance() override;
    void budget_freed() override { nodes_.budget_freed(); }
    [[nodiscard]] bool watches_child(std::string_view, std::string_view child) const override
    {
        return queue_.known().watches().is_watched(child);
    }
    [[nodiscard]] bool owns_child(std::string_view, std::string_view child) const override
    {
        return queue_.known().owns(child);
    }
    [[nodiscard]] bool misses_child(std::string_view, const std::set<std::string_view>& names) const override
    {
        return queue_.known().misses_any(names);
    }
    void on_own_event(store::event_kind, std::string_view path) override;
    void on_node_event(store::event_kind, std::string_view path, std::string_view node) override;

    // --- called by its parts -----------------------------------------------------------------------------------------

    using recipe_path::after_a_while;
    using recipe_path::answer_came;
    using recipe_path::answer_due;
    using recipe_path::expect;
    [[nodiscard]] std::string full(std::string_view node) const { return queue::child_of(path_, node); }
    /// Its nodes may linger.
    [[nodiscard]] bool lingers() const noexcept { return options_.linger.count() > 0; }
    [[nodiscard]] path_handoffs* handoffs() const noexcept { return handoffs_.get(); }
    [[nodiscard]] lock_nodes& nodes() noexcept { return nodes_; }
    [[nodiscard]] bool makes_path() const noexcept { return parents_.busy(); }
    void make_path(parent_kind kind, const std::optional<access_list>& access)
    {
        recipe_path::make_path(parents_, path_, kind, access);
    }
    /// The path's own node was deleted, because its numbers were scarce.
    void parent_removed();
    /// An answer says that there is no such node.
    void path_missing();
    /// Remembers the nodes of ours that a list has shown, whose creates were lost, and those that an answer was
    /// without. `changed`: the path's children had changed so by then.
    void note_shown(std::int64_t changed = 0);
    void notice_refusal(store::outcome);
    /// The contender waits no more, and has no use for a node.
    void refuse(lock_contender&, errc why);
    /// Ends the wait of all, or only of those who wait like that.
    void fail_waiting(errc why, std::optional<acquire_mode> only = {});
    void carry_out_decisions();
    void forget(queue::contender_id);
    /// The contender's node is gone.
    void end_release(lock_contender&, std::string_view node);

private:
    using contender_ptr = contender_table::contender_ptr;

    [[nodiscard]] path_part part() { return {*this, session_, queue_, contenders_}; }
    void own_path_gone() override { queue_.parent_absent(); }
    void path_answered(std::optional<errc> refusal) override
    {
        if (refusal)
            fail_waiting(*refusal);
    }
    void retire_the_rest() override;
    /// `now` is read where there may be a grant.
    void carry_out(const queue::action&, store::scheduler::time_point now);
    /// The node of the contender, if it holds, or else nothing.
    [[nodiscard]] std::string_view node_of_holder(queue::contender_id) const;
    void note_deletion(std::string_view node);
    void start_remove(const queue::action&);
    void grant(lock_contender&, const queue::action&, store::scheduler::time_point now);

    const path_options options_;
    std::shared_ptr<const named_options> taken_; ///< those of the last acquire
    queue::contender_kind taken_kind_{};
    // What each step looks at stands together, beside what the queue looks at.
    contender_table contenders_;
    bool listens_ = true; ///< to the path's own node
    queue::lock_queue queue_;
    const std::unique_ptr<path_handoffs> handoffs_; ///< null if the client has none
    lock_nodes nodes_;
    lock_requests requests_;
    lock_looks looks_;
    holder_report holder_;
};

} // namespace zklock::recipes

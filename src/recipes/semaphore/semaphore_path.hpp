#pragma once
#include "recipes/locks/locks.hpp"
#include "recipes/semaphore/maximum_permits.hpp"
#include "recipes/semaphore/permit_nodes.hpp"
#include "recipes/semaphore/permits_in_use.hpp"
#include "recipes/semaphore/semaphore_acquisition.hpp"
#include "recipes/semaphore/semaphore_layout.hpp"
#include "recipes/session/parent_maker.hpp"
#include "recipes/session/recipe_path.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::recipes {

/// The options on which all acquires of a client at one path have to agree.
struct semaphore_path_options {
    naming names;
    unsigned permits;
    std::string count_path;
    bool check_permits;

    explicit semaphore_path_options(const semaphore_options& o)
        : names(o.names), permits(o.permits), count_path(o.count_path), check_permits(o.check_permits)
    {
    }
    friend bool operator==(const semaphore_path_options&, const semaphore_path_options&) = default;
};

/// What is wrong with how many permits are wanted of such a semaphore.
[[nodiscard]] std::optional<option_fault> fault_of_count(const semaphore_options&, std::size_t count);
/// What is wrong with the options, but for the paths in them. The identifier, and whom `auth` in the access list stands
/// for, are looked at by the line's lock.
[[nodiscard]] std::optional<option_fault> fault_of_numbers(const semaphore_options&);
/// The option by which one who comes to a path contradicts those who are there.
[[nodiscard]] option_fault contradiction(const semaphore_path_options& there, const semaphore_path_options& wanted);

/// All acquires of one client on the semaphore of one path, and the nodes that stand for their permits.
///
/// Safety comes from counting after creating; the lock gives only order. The acquire that has the lock of the waiting
/// line, the *head*, makes its nodes. It is granted once a list of all nodes, read after that, has them and is not
/// longer than the *maximum*, the number of permits. So of all that are granted the one whose nodes were made last has
/// seen the nodes of the others. Thanks to the lock acquires come in order, and one alone watches the list.
class semaphore_path final : public recipe_path {
public:
    /// `idle` is called, later, when nobody needs the path any more.
    semaphore_path(locks&, const std::string& path, semaphore_path_options, std::function<void()> idle);
    ~semaphore_path() override;
    semaphore_path& operator=(semaphore_path&&) = delete;

    [[nodiscard]] const semaphore_path_options& options() const noexcept { return options_; }
    [[nodiscard]] const semaphore_layout& layout() const noexcept { return layout_; }
    [[nodiscard]] bool idle() const noexcept override;
    /// All that is left to do is to delete nodes: nobody has permits or waits for them.
    [[nodiscard]] bool only_leaving() const noexcept;
    [[nodiscard]] bool finished() const noexcept override { return idle() && retired(); }
    void give_way() override;
    /// As any path's, where both make something.
    void take_containers(semaphore_path& from);
    [[nodiscard]] making next_making() noexcept override;

    std::shared_ptr<semaphore_acquisition> acquire(permits_request);

    // --- called by its acquires --------------------------------------------------------------------------------------

    [[nodiscard]] permit_nodes& nodes() noexcept { return nodes_; }
    [[nodiscard]] maximum_permits& maximum() noexcept { return maximum_; }
    [[nodiscard]] permits_in_use& in_use() noexcept { return in_use_; }
    std::shared_ptr<acquisition> take_place(acquire_request lock) { return locks_.acquire(std::move(lock)); }
    /// One of ours is at the head of the line, and not for want of a permit, as far as is known: it waits for an
    /// answer.
    [[nodiscard]] bool head_finds_room() const noexcept;
    /// How many permits there are, as far as is known.
    [[nodiscard]] std::size_t permits_known() const noexcept;
    /// It has come to the head of the line.
    void make_nodes(semaphore_acquisition&);
    /// It is at the head no more.
    void step_back(semaphore_acquisition& head) { std::erase(heads_, head.shared_from_this()); }
    /// It has waited in vain.
    void leave(semaphore_acquisition& acquisition)
    {
        wait_ended(acquisition);
        forget(acquisition);
        acquisition.drop_all();
        advance();
    }
    void wait_ended(semaphore_acquisition& acquisition)
    {
        step_back(acquisition);
        --waiting_;
    }
    /// Looks at its nodes from now on: others may delete them, or ask their holder to let go.
    void watch(const semaphore_acquisition& holder)
    {
        nodes_.watch(holder, true);
        advance();
    }
    void look_for_holder(const semaphore_acquisition&) { in_use_.look_at_holder(); }
    void adopt(const std::shared_ptr<semaphore_acquisition>& part)
    {
        part->id = ++last_id_;
        acquisitions_.emplace(part->id, part);
    }
    /// It has no business here any more.
    void forget(const semaphore_acquisition& acquisition) { acquisitions_.erase(acquisition.id); }

    // --- called by its parts -----------------------------------------------------------------------------------------

    using recipe_path::after_a_while;
    using recipe_path::expect;
    [[nodiscard]] bool has_head() const noexcept { return !heads_.empty(); }
    /// A copy, because they may go while it is gone through.
    [[nodiscard]] auto heads() const { return heads_; }
    /// The options of the one who has been at the head for the longest time; null if there is none.
    [[nodiscard]] const semaphore_options* options_of_head() const noexcept;
    /// The servers have refused something: that ends the wait of those at the head, who alone have asked for it.
    void fail_heads(errc why);
    void make_path(parent_maker&, const std::string& path);
    /// The nodes' own path is gone.
    void make_own_path();
    /// This client has set the data of the semaphore's path.
    void path_written(const store::node_stat&);
    /// What the head has seen may have changed.
    void look_again() noexcept { in_use_.look_again(); }
    /// Takes note of an answer about the nodes' own path.
    void notice_refusal(store::outcome result) noexcept { in_use_.notice_refusal(result); }

    // --- called by the session ---------------------------------------------------------------------------------------

    void epoch_began() override;
    void epoch_ended() override;
    void session_ended() override;
    void session_overdue() override { nodes_.session_overdue(); }
    void lease_lapsed() override;
    void refuse_all(errc why) override;
    void refuse_tries() override;
    void stop(errc why) override;
    void advance() override;
    bool notice_long_holder(store::scheduler::time_point now) override;
    [[nodiscard]] bool watches_child(std::string_view path, std::string_view child) const override;
    [[nodiscard]] bool owns_child(std::string_view path, std::string_view child) const override;
    [[nodiscard]] bool misses_child(std::string_view path, const std::set<std::string_view>& names) const override;
    void on_own_event(store::event_kind, std::string_view path) override;
    void on_node_event(store::event_kind, std::string_view path, std::string_view child) override;

private:
    [[nodiscard]] auto acquisitions() const { return acquisitions_; } ///< likewise
    [[nodiscard]] const std::string& own_path() const noexcept override { return layout_.permits; }
    void own_path_gone() override { maximum_.path_gone(); }
    void path_answered(std::optional<errc> refusal) override;
    void retire_the_rest() override { advance(); }

    locks& locks_;
    const semaphore_path_options options_;
    const semaphore_layout layout_;
    permit_nodes nodes_;
    maximum_permits maximum_;
    permits_in_use in_use_;
    std::uint64_t last_id_ = 0; ///< of an acquisition
    /// By their ids, until their nodes are gone.
    std::map<std::uint64_t, std::shared_ptr<semaphore_acquisition>> acquisitions_;
    /// With the lock of the line: one, unless that lock was lost.
    std::vector<std::shared_ptr<semaphore_acquisition>> heads_;
    std::size_t waiting_ = 0; ///< acquires that have not ended
    bool listens_ = true;     ///< to the nodes' own path
};

} // namespace zklock::recipes

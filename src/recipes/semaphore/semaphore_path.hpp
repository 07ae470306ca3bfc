#pragma once
#include "recipes/locks/holder_look.hpp"
#include "recipes/locks/locks.hpp"
#include "recipes/semaphore/permit_node.hpp"
#include "recipes/semaphore/semaphore_acquisition.hpp"
#include "recipes/semaphore/semaphore_layout.hpp"
#include "recipes/semaphore/shared_count.hpp"
#include "recipes/session/gathered_looks.hpp"
#include "recipes/session/parent_maker.hpp"
#include "recipes/session/recipe_path.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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
    semaphore_path(const semaphore_path&) = delete;
    semaphore_path& operator=(const semaphore_path&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] const semaphore_path_options& options() const noexcept { return options_; }
    [[nodiscard]] const semaphore_layout& layout() const noexcept { return layout_; }
    [[nodiscard]] bool idle() const noexcept override;
    /// All that is left to do is to delete nodes: nobody has permits or waits for them.
    [[nodiscard]] bool only_leaving() const noexcept;
    [[nodiscard]] bool finished() const noexcept override { return idle() && retired(); }
    void give_way() override;
    /// Takes over what the one before it at the same path has made, where both make something.
    void take_over(semaphore_path& before) noexcept;
    [[nodiscard]] making next_making() noexcept override;

    std::shared_ptr<semaphore_acquisition> acquire(permits_request);

    // --- called by its acquires --------------------------------------------------------------------------------------

    /// Reads whether there is room, for one that looks once: then it lines up, and fails if there is none.
    void look(const std::shared_ptr<semaphore_acquisition>&);
    std::shared_ptr<acquisition> take_place(acquire_request lock) { return locks_.acquire(std::move(lock)); }
    /// One of those who wait will have to stop soon: somebody who holds permits is looked at, unless that was done a
    /// moment ago.
    void look_at_holder();
    /// One of ours is at the head of the line, and not for want of a permit, as far as is known: it waits for an
    /// answer.
    [[nodiscard]] bool head_finds_room() const noexcept;
    /// The one who was looked at, if he was seen.
    [[nodiscard]] std::optional<contender> holder_seen() const;
    /// How many permits there are, as far as is known.
    [[nodiscard]] std::size_t permits_known() const noexcept;
    /// It has come to the head of the line.
    void make_nodes(semaphore_acquisition&);
    /// It is at the head no more.
    void step_back(semaphore_acquisition&);
    /// The full path of a node; without its number as long as that is not known.
    [[nodiscard]] std::string path_of(const permit_node&) const;
    void wait_ended() { --waiting_; }
    /// That node has no owner any more: it is deleted.
    void drop(const permit_ptr&);
    /// Looks at its nodes from now on: others may delete them, or ask their holder to let go.
    void watch(semaphore_acquisition&);
    void adopt(const std::shared_ptr<semaphore_acquisition>& part)
    {
        part->id = ++last_id_;
        acquisitions_.emplace(part->id, part);
    }
    /// Sends the deletes that are due, before anything else is sent.
    void flush();
    /// It has no business here any more.
    void forget(semaphore_acquisition&);

    // --- called by its shared count ----------------------------------------------------------------------------------

    using recipe_path::expect;
    /// The options of the one who has been at the head for the longest time; null if there is none.
    [[nodiscard]] const semaphore_options* options_of_head() const noexcept;
    /// The servers have refused something: that ends the wait of those at the head, who alone have asked for it.
    void fail_heads(errc why);
    void make_path(parent_maker&, const std::string& path);
    /// What the head has seen may have changed.
    void look_again() noexcept { stale_ = true; }

    // --- called by the session ---------------------------------------------------------------------------------------

    void epoch_began() override;
    void epoch_ended() override;
    void session_ended() override;
    void session_overdue() override;
    void lease_lapsed() override;
    void refuse_all(errc why) override;
    void stop(errc why) override;
    void advance() override;
    bool notice_long_holder(store::scheduler::time_point now) override;
    [[nodiscard]] bool watches_child(std::string_view path, std::string_view child) const override;
    [[nodiscard]] bool owns_child(std::string_view path, std::string_view child) const override;
    [[nodiscard]] bool misses_child(std::string_view path, const std::set<std::string_view>& names) const override;
    void on_own_event(store::event_kind, std::string_view path) override;
    void on_node_event(store::event_kind, std::string_view path, std::string_view child) override;

private:
    enum class look_up : std::uint8_t { none, due, under_way }; ///< of nodes whose creates are lost
    enum class check : std::uint8_t { none, due, under_way };   ///< that all mean the same maximum

    // acquires (semaphore_path.cpp)
    [[nodiscard]] std::vector<std::shared_ptr<semaphore_acquisition>> acquisitions() const;
    [[nodiscard]] std::vector<std::shared_ptr<semaphore_acquisition>> heads() const;
    void want_nodes(semaphore_acquisition& head);
    void gone(const permit_ptr&, boost::system::error_code = {});
    void gone_already(const permit_ptr&);
    [[nodiscard]] lock_loss loss_of(const permit_node&, const permits_release&) const noexcept;
    [[nodiscard]] boost::system::error_code fate(const permit_node&) const;
    void lost_to_others(const permit_ptr&);
    [[nodiscard]] const std::string& own_path() const noexcept override { return layout_.permits; }
    void own_path_gone() override { check_ = options_.check_permits ? check::due : check::none; }
    void retire_the_rest() override { advance(); }

    // nodes (semaphore_path_nodes.cpp)
    template <class Form, class Answered>
    void send_together(std::vector<permit_ptr>, Form form, Answered answered);
    void send_removes();
    void send_remove(const permit_ptr&);
    void on_removed(const permit_ptr&, store::outcome);
    void send_creates();
    void send_create(const permit_ptr&);
    void on_created(const permit_ptr&, store::outcome, std::string_view path);
    void send_look_up();
    void on_look_up(const std::vector<std::string>& names);
    void take_name(const permit_ptr&, std::string_view name);
    void send_watches();
    void send_watch(const permit_ptr&);

    // what the head of the line looks at (semaphore_path_looks.cpp)
    void send_looks();
    void on_look(semaphore_acquisition&, const store::children_reply&, std::uint64_t grants);
    [[nodiscard]] bool look_is_due() const;
    void send_look();
    void on_list(const std::vector<std::string>& names);
    void decide(semaphore_acquisition&, const std::vector<std::string>& permits, std::size_t in_use);
    [[nodiscard]] std::shared_ptr<const contender> holder_among(std::vector<std::string> permits) const;
    /// An event will tell when there may be room.
    [[nodiscard]] bool watches() const noexcept
    {
        return watching_ && !watch_refused_ && count_.changes_are_told();
    }
    void notice_refusal(store::outcome) noexcept;
    void forget_holder() noexcept;
    void stop_watching();
    void send_check();
    void on_check(const store::get_reply&);
    void write_maximum(std::int32_t version);
    void on_maximum_written(const store::stat_reply&);

    locks& locks_;
    const std::string path_;
    const semaphore_path_options options_;
    const semaphore_layout layout_;
    const std::size_t node_cost_;   ///< of one node, in the node budget
    shared_count count_;            ///< the maximum
    std::uint64_t last_id_ = 0; ///< of an acquisition or a node
    std::map<std::uint64_t, std::shared_ptr<semaphore_acquisition>> acquisitions_; ///< by their ids
    std::vector<semaphore_acquisition*> heads_; ///< with the lock of the line: one, unless that lock was lost
    std::size_t waiting_ = 0;                   ///< acquires that have not ended

    std::map<std::uint64_t, permit_ptr> nodes_; ///< all that are not gone, by their ids
    std::unordered_map<std::string, permit_ptr> by_name_;
    std::vector<permit_ptr> to_create_;
    std::vector<permit_ptr> to_remove_;
    std::vector<permit_ptr> to_watch_;
    std::vector<permit_ptr> unknown_;
    look_up look_up_ = look_up::none;

    bool listens_ = true;   ///< to the nodes' own path
    bool stale_ = false;    ///< the nodes have to be listed (again)
    bool listing_ = false;
    bool watching_ = false; ///< the list of the nodes
    bool watch_refused_ = false; ///< that watch counts for nothing: something was refused since
    bool shall_watch_ = false; ///< with the next look
    std::size_t others_ = 0; ///< nodes that are not ours, when last seen
    check check_ = check::none;
    gathered_looks<std::shared_ptr<semaphore_acquisition>> looks_; ///< at whether there is room
    std::shared_ptr<holder_look> holder_look_; ///< the last
    store::scheduler::time_point holder_look_began_{};
};

} // namespace zklock::recipes

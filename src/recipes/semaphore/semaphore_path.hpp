#pragma once
#include "recipes/locks/locks.hpp"
#include "recipes/semaphore/lease_node.hpp"
#include "recipes/semaphore/semaphore_acquisition.hpp"
#include "recipes/semaphore/semaphore_layout.hpp"
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

/// What holds for a semaphore's path: all that use it at the same time have to agree.
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

/// All acquires of one client on the semaphore of one path, and their leases: the nodes that stand for permits in use.
///
/// Safety comes from counting after creating; the lock gives only order. The acquire that has the lock of the waiting
/// line makes its leases, and is granted once a list of all leases, read after that, has them and is not longer than
/// there are permits. So the last whose leases were made, of all that are granted, has seen the leases of the others.
/// The lock sees to it that acquires come in order, and that one alone watches the leases.
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
    [[nodiscard]] bool finished() const noexcept override { return idle() && retired(); }
    /// What the one before it at the same path has made, where both make something.
    void take_over(semaphore_path& before) noexcept;
    [[nodiscard]] making next_making() noexcept override;

    std::shared_ptr<semaphore_acquisition> acquire(permits_request);

    // --- called by its acquires --------------------------------------------------------------------------------------

    /// Whether there is room, without a write: then it lines up.
    void look(const std::shared_ptr<semaphore_acquisition>&);
    std::shared_ptr<acquisition> take_place(acquire_request lock) { return locks_.acquire(std::move(lock)); }
    /// It has come to the head of the line.
    void make_leases(semaphore_acquisition&);
    /// It has left the head, or the line.
    void step_back(semaphore_acquisition&);
    /// The full path of a lease's node; without its number as long as that is not known.
    [[nodiscard]] std::string node_of(const lease_node&) const;
    void wait_ended() { --waiting_; }
    /// That lease has no owner any more.
    void drop(const lease_ptr&);
    /// Looks at its leases, and goes on doing so.
    void watch(semaphore_acquisition&);
    void adopt(const std::shared_ptr<semaphore_acquisition>& part)
    {
        part->number = ++last_number_;
        acquisitions_.emplace(part->number, part);
    }
    /// Sends the deletes that are due, before anything else is sent.
    void flush();
    /// It has no business here any more.
    void forget(semaphore_acquisition&);

    // --- called by the session ---------------------------------------------------------------------------------------

    void epoch_began() override;
    void epoch_ended() override;
    void session_ended() override;
    void distrust() override;
    void lease_lapsed() override;
    void refuse_all(errc why) override;
    void stop(errc why) override;
    void advance() override;
    bool notice_long_holder(store::scheduler::time_point now) override;
    void on_own_event(store::event_kind, std::string_view path) override;
    void on_node_event(store::event_kind, std::string_view path, std::string_view child) override;

private:
    enum class look_up : std::uint8_t { none, due, under_way };
    enum class check : std::uint8_t { none, due, under_way };

    [[nodiscard]] std::vector<std::shared_ptr<semaphore_acquisition>> acquisitions() const;
    [[nodiscard]] std::vector<std::shared_ptr<semaphore_acquisition>> heads() const;
    /// Ends the wait of those who would go on: nobody else asks the servers for anything.
    void fail_heads(errc why);
    void wish_leases(semaphore_acquisition& head);
    void put_in_order(const lease_ptr&);
    void gone(const lease_ptr&, boost::system::error_code = {});
    void lost_to_others(const lease_ptr&);

    // leases (semaphore_leases.cpp)
    template <class Form, class Answered>
    void send_together(std::vector<lease_ptr>, Form form, Answered answered);
    void send_removes();
    void send_remove(const lease_ptr&);
    void on_removed(const lease_ptr&, store::outcome);
    void send_creates();
    void send_create(const lease_ptr&);
    void on_created(const lease_ptr&, store::outcome, std::string_view node);
    void send_look_up();
    void on_look_up(const std::vector<std::string>& names);
    void take_name(const lease_ptr&, std::string_view name);
    void send_watches();
    void send_watch(const lease_ptr&);

    // what the head of the line looks at (semaphore_looks.cpp)
    [[nodiscard]] bool look_is_due() const;
    void send_look();
    void on_list(const std::vector<std::string>& names);
    void decide(semaphore_acquisition&, std::size_t leases);
    [[nodiscard]] bool watches() const noexcept { return watching_ && (options_.count_path.empty() || count_watched_); }
    void stop_watching();
    void read_count(bool watch);
    void make_count();
    void send_check();
    void on_check(const store::get_reply&);

    void make_path(parent_maker&, const std::string& path);
    [[nodiscard]] const std::string& own_path() const noexcept override { return layout_.leases; }
    void own_path_gone() override { check_ = options_.check_permits ? check::due : check::none; }
    void retire_the_rest() override { advance(); }
    /// The permits are written there.
    void permits_written(const store::node_stat&) noexcept;

    locks& locks_;
    const std::string path_;
    const semaphore_path_options options_;
    const semaphore_layout layout_;
    const std::size_t lease_cost_; ///< of one lease, in the node budget
    parent_maker count_parents_; ///< of the shared count; parents_ is of the leases
    std::uint64_t last_number_ = 0; ///< of an acquisition or a lease
    std::map<std::uint64_t, std::shared_ptr<semaphore_acquisition>> acquisitions_; ///< by their numbers
    std::vector<semaphore_acquisition*> heads_; ///< with the lock of the line: one, unless that lock was lost
    std::size_t waiting_ = 0; ///< acquires that have not ended

    std::map<std::uint64_t, lease_ptr> leases_; ///< all that are not gone, by their numbers
    std::unordered_map<std::string, lease_ptr> by_name_;
    std::vector<lease_ptr> to_create_;
    std::vector<lease_ptr> to_remove_;
    std::vector<lease_ptr> to_watch_;
    std::vector<lease_ptr> unknown_;
    look_up look_up_ = look_up::none;

    bool stale_ = false;    ///< the leases have to be listed (again)
    bool listing_ = false;
    bool watching_ = false; ///< the leases
    bool shall_watch_ = false;
    std::size_t others_ = 0; ///< leases that are not ours, when last seen
    std::optional<std::int64_t> maximum_;
    bool counting_ = false; ///< the events of the shared count are listened to
    std::size_t count_reads_ = 0; ///< under way
    bool count_watched_ = false;
    bool count_outdated_ = false; ///< it has changed since it was read
    check check_ = check::none;
};

} // namespace zklock::recipes

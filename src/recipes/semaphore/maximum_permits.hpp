#pragma once
#include "queue/node_path.hpp"
#include "recipes/semaphore/semaphore_part.hpp"
#include "recipes/session/parent_maker.hpp"
#include "recipes/session/recipe_path.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::recipes {

/// The maximum of a semaphore. It may be the data of a node: all clients share it, and anybody may change it (Curator's
/// `SharedCount`). The head of the line has it read, and made if it is not there. Without such a node the maximum is
/// what the options say; then it may be checked that all clients mean the same: the data of the semaphore's path says
/// it, and who comes first writes it there.
class maximum_permits final : private semaphore_part {
public:
    maximum_permits(semaphore_path&, session&, const semaphore_layout&);

    /// The maximum as it was read last; empty if it is not known.
    [[nodiscard]] const std::optional<std::int64_t>& now() const noexcept { return maximum_; }
    /// It is known, and no event has told since that it was changed.
    [[nodiscard]] bool is_current() const noexcept { return maximum_ && !outdated_; }
    /// All mean the same, or nobody asks.
    [[nodiscard]] bool agreed() const noexcept;
    /// Has that checked, unless it is so, or is being checked.
    void check();
    /// The semaphore's path is gone, and what was written there.
    void path_gone() noexcept { check_ = check_state::due; }
    /// An event will tell when it changes, or it does not.
    [[nodiscard]] bool changes_are_told() const noexcept { return watched_ || !exists(); }
    /// There is a watch, which is to be taken back some time.
    [[nodiscard]] bool watches() const noexcept { return watched_; }

    /// Somebody wants permits: the semaphore hears of the node's events from now on.
    void listen();
    /// Reads it, if it may have changed; `watch`: so that its changes are told.
    void read(bool watch);
    /// Nobody wants permits: takes the watch back, unless an answer is due that may set another.
    void stop_watching();
    /// The semaphore goes away. True when a watch is to be taken back that was left to others, who have gone.
    [[nodiscard]] bool stop_listening();

    /// Takes an event for that path. False if it has nothing to do with the count.
    bool on_event(store::event_kind, std::string_view path) noexcept;
    void epoch_ended() noexcept { watched_ = false; }

    /// The containers that were made above the node.
    [[nodiscard]] recipe_path::making making() noexcept { return {queue::parent_of(path_), &parents_.made}; }
    /// Takes over what the one before it at the same path has made.
    void take_containers(maximum_permits& from);

private:
    enum class check_state : std::uint8_t { due, under_way, passed };

    [[nodiscard]] bool exists() const noexcept { return !path_.empty(); }
    void on_read(const store::get_reply&, bool watch);
    void make();
    void on_made(const store::create_reply&);
    void on_checked(const store::get_reply&);
    void write(std::int32_t version);
    void on_written(const store::stat_reply&);

    const std::string path_; ///< empty: there is no node
    parent_maker parents_;
    std::optional<std::int64_t> maximum_;
    std::size_t reads_ = 0; ///< under way
    bool listens_ = false;
    bool watched_ = false;
    bool outdated_ = false; ///< it has changed since it was read
    check_state check_ = check_state::due;
};

} // namespace zklock::recipes

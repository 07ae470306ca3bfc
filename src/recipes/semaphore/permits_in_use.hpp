#pragma once
#include "recipes/semaphore/semaphore_part.hpp"
#include "store/store.hpp"
#include "zklock/events.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace zklock::recipes {

class semaphore_acquisition;

/// What the head of a semaphore's line looks at before it is granted: how many permits are in use, and of how many. It
/// alone watches the list of all nodes.
class permits_in_use final : private semaphore_part {
public:
    using semaphore_part::semaphore_part;

    /// What was seen may have changed: the nodes have to be listed (again).
    void look_again() noexcept { stale_ = true; }
    /// Looks, if there is a head for whom that is due. `path_is_there`: as far as is known.
    void look(bool path_is_there);
    /// Takes note of an answer about the nodes' own path. Who may not read it hears of no event: so the head looks
    /// again.
    void notice_refusal(store::outcome) noexcept;
    /// There is a watch on the list.
    [[nodiscard]] bool watched() const noexcept { return watching_; }
    /// Nobody waits any more who would look at what the watches tell.
    void stop_watching();
    void epoch_ended() noexcept { watching_ = watch_refused_ = false; }
    /// That watch is used up.
    void list_changed() noexcept
    {
        watching_ = false;
        stale_ = true;
    }

private:
    void send_look();
    void on_list(const std::vector<std::string>& names, std::int64_t changed);
    void decide(semaphore_acquisition&, const std::vector<std::string>& permits, std::size_t in_use);
    [[nodiscard]] std::shared_ptr<const contender> holder_among(std::vector<std::string> permits) const;
    [[nodiscard]] bool changes_are_told() const noexcept;

    bool stale_ = false;
    bool listing_ = false;
    bool watching_ = false;
    bool watch_refused_ = false; ///< that watch counts for nothing: something was refused since
    bool shall_watch_ = false;   ///< with the next look
    std::size_t others_ = 0;     ///< nodes that are not ours, when last seen
};

} // namespace zklock::recipes

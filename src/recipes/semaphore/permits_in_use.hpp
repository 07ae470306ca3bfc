#pragma once
#include "recipes/locks/holder_look.hpp"
#include "recipes/semaphore/semaphore_part.hpp"
#include "recipes/session/gathered_looks.hpp"
#include "store/store.hpp"
#include "zklock/events.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zklock::recipes {

class semaphore_acquisition;

/// What is seen of the permits in use. The head of a semaphore's line looks before it is granted at how many there are,
/// and of how many; it alone watches the list of all nodes. Others look before they come to the head: one that looks
/// once sees whether there is room. One whose time is nearly up sees who holds permits.
class permits_in_use final : private semaphore_part {
public:
    using semaphore_part::semaphore_part;

    /// What was seen may have changed: the nodes have to be listed (again).
    void look_again() noexcept { stale_ = true; }
    /// Looks, if there is a head for whom that is due. `path_is_there`: as far as is known.
    void look(bool path_is_there);
    /// Reads whether there is room, for one that looks once: then it lines up, and fails if there is none. So it writes
    /// nothing when it can see that there is none.
    void look_once(const std::shared_ptr<semaphore_acquisition>&);
    /// One of those who wait will have to stop soon: somebody who holds permits is looked at, unless that was done a
    /// moment ago.
    void look_at_holder();
    /// The one who was looked at, if he was seen.
    [[nodiscard]] std::optional<contender> holder_seen() const;
    /// Takes note of an answer about the nodes' own path. Who may not read it hears of no event: so the head looks
    /// again.
    void notice_refusal(store::outcome) noexcept;
    /// There is a watch on the list.
    [[nodiscard]] bool watched() const noexcept { return watching_; }
    /// Nobody waits any more who would look at what the watches tell.
    void stop_watching();
    void epoch_ended() noexcept
    {
        watching_ = watch_refused_ = false;
        last_holder_.epoch_ended();
    }
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
    void send_look_for_room();
    void on_room(semaphore_acquisition&, const store::children_reply&);

    bool stale_ = false;
    bool listing_ = false;
    bool watching_ = false;
    bool watch_refused_ = false; ///< that watch counts for nothing: something was refused since
    bool shall_watch_ = false;   ///< with the next look
    std::size_t others_ = 0;     ///< nodes that are not ours, when last seen
    gathered_looks<std::shared_ptr<semaphore_acquisition>> for_room_;
    last_holder_look last_holder_;
};

} // namespace zklock::recipes

#pragma once
#include "recipes/locks/holder_look.hpp"
#include "recipes/semaphore/semaphore_part.hpp"
#include "recipes/session/gathered_looks.hpp"
#include "store/store.hpp"
#include "zklock/events.hpp"

#include <memory>
#include <optional>

namespace zklock::recipes {

class semaphore_acquisition;

/// The looks of those who have not come to the head of a semaphore's line: whether there is room, for one that looks
/// once; and who holds permits, for one whose time is nearly up.
class room_looks final : private semaphore_part {
public:
    using semaphore_part::semaphore_part;

    /// Reads whether there is room, for one that looks once: then it lines up, and fails if there is none. So it writes
    /// nothing when it can see that there is none.
    void look(const std::shared_ptr<semaphore_acquisition>&);
    /// One of those who wait will have to stop soon: somebody who holds permits is looked at, unless that was done a
    /// moment ago.
    void look_at_holder();
    /// The one who was looked at, if he was seen.
    [[nodiscard]] std::optional<contender> holder_seen() const;
    void epoch_ended() noexcept { holder_.epoch_ended(); }

private:
    void send();
    void on_look(semaphore_acquisition&, const store::children_reply&);

    gathered_looks<std::shared_ptr<semaphore_acquisition>> looks_; ///< at whether there is room
    last_holder_look holder_;
};

} // namespace zklock::recipes

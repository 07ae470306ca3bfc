#pragma once
#include "recipes/locks/holder_look.hpp"
#include "recipes/session/gathered_looks.hpp"
#include "store/scheduler.hpp"
#include "store/store.hpp"
#include "zklock/events.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace zklock::recipes {

class permit_nodes;
class semaphore_acquisition;
class semaphore_path;
class session;
class shared_count;

/// The looks of those who have not come to the head of a semaphore's line: whether there is room, for one that looks
/// once; and who holds permits, for one whose time is nearly up.
class room_looks {
public:
    room_looks(semaphore_path&, session&, const permit_nodes&, shared_count&);
    ~room_looks() { forget_holder(); }
    room_looks(const room_looks&) = delete;
    room_looks& operator=(const room_looks&) = delete;

    /// Reads whether there is room, for one that looks once: then it lines up, and fails if there is none. So it writes
    /// nothing when it can see that there is none.
    void look(const std::shared_ptr<semaphore_acquisition>&);
    /// One of those who wait will have to stop soon: somebody who holds permits is looked at, unless that was done a
    /// moment ago.
    void look_at_holder();
    /// The one who was looked at, if he was seen.
    [[nodiscard]] std::optional<contender> holder_seen() const;
    void epoch_ended() noexcept;

private:
    void send();
    void on_look(semaphore_acquisition&, const store::children_reply&, std::uint64_t grants);
    void forget_holder() noexcept;

    semaphore_path& semaphore_;
    session& session_;
    const permit_nodes& nodes_;
    shared_count& count_;
    gathered_looks<std::shared_ptr<semaphore_acquisition>> looks_; ///< at whether there is room
    std::shared_ptr<holder_look> holder_;                          ///< the last
    store::scheduler::time_point holder_look_began_{};
};

} // namespace zklock::recipes

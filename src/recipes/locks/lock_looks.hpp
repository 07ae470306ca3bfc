#pragma once
#include "recipes/locks/path_part.hpp"
#include "recipes/session/gathered_looks.hpp"

#include <array>
#include <optional>

namespace zklock::recipes {

/// The contenders of a lock_path that look once: they write nothing when they can see that the lock is busy.
class lock_looks final : private path_part {
public:
    explicit lock_looks(const path_part& part) : path_part(part) {}

    /// The contender is refused, or joins the queue.
    void look(const contender_ptr&);

private:
    /// What one list shows each kind of contender, once it is known: it may be long.
    using seen_busy = std::array<std::optional<bool>, queue::contender_kinds>;

    void send();
    void on_look(lock_contender&, const store::children_reply&, seen_busy&);
    [[nodiscard]] bool overtaken(const lock_contender&) const;
    void refuse(lock_contender&, errc why);
    void refuse_as_busy(lock_contender&, bool for_others);

    gathered_looks<contender_ptr> looks_; ///< at whether the lock is free
};

} // namespace zklock::recipes

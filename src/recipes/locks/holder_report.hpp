#pragma once
#include "recipes/locks/holder_look.hpp"
#include "recipes/locks/path_part.hpp"

#include <memory>

namespace zklock::recipes {

/// What contenders of a lock_path are told of those before them when their wait ends by time.
class holder_report final : private path_part {
public:
    explicit holder_report(const path_part& part) : path_part(part) {}
    ~holder_report() { forget_look(); }

    /// The contender's deadline is near. Looks once, for all who wait, at who holds the lock.
    void look_for(const lock_contender&);
    /// Who is before the contender now.
    [[nodiscard]] known_wait describe_wait(const lock_contender&) const;
    void epoch_ended() noexcept;

private:
    void forget_look() noexcept;

    std::shared_ptr<holder_look> look_; ///< at who holds the lock, or has held it
};

} // namespace zklock::recipes

#pragma once
#include "recipes/semaphore/semaphore_part.hpp"
#include "store/store.hpp"

#include <cstdint>

namespace zklock::recipes {

/// Checks that all clients mean the same number of permits: the data of the semaphore's path says it, and who comes
/// first writes it there.
class permits_check final : private semaphore_part {
public:
    using semaphore_part::semaphore_part;

    /// All mean the same, or nobody asks.
    [[nodiscard]] bool passed() const noexcept;
    /// Begins, unless it has passed, or is under way.
    void begin();
    /// The path is gone, and what was written there.
    void path_gone() noexcept { now_ = state::due; }

private:
    enum class state : std::uint8_t { due, under_way, passed };

    void on_read(const store::get_reply&);
    void write(std::int32_t version);
    void on_written(const store::stat_reply&);

    state now_ = state::due;
};

} // namespace zklock::recipes

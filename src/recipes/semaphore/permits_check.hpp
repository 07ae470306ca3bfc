#pragma once
#include "store/store.hpp"

#include <cstdint>

namespace zklock::recipes {

class semaphore_path;
class session;

/// Checks that all clients mean the same number of permits: the data of the semaphore's path says it, and who comes
/// first writes it there.
class permits_check {
public:
    permits_check(semaphore_path&, session&, bool wanted);

    /// All mean the same, or nobody asks.
    [[nodiscard]] bool passed() const noexcept { return now_ == state::passed; }
    /// Begins, unless it has passed, or is under way.
    void begin();
    /// The path is gone, and what was written there.
    void path_gone() noexcept { now_ = wanted_ ? state::due : state::passed; }

private:
    enum class state : std::uint8_t { passed, due, under_way };

    void on_read(const store::get_reply&);
    void write(std::int32_t version);
    void on_written(const store::stat_reply&);

    semaphore_path& semaphore_;
    session& session_;
    const bool wanted_;
    state now_;
};

} // namespace zklock::recipes

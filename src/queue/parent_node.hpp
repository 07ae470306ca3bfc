#pragma once
#include "queue/lock_queue_action.hpp"
#include "queue/watches.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace zklock::queue {

inline constexpr std::int64_t numbers_end = std::int64_t{1} << 31; ///< a parent's numbers after this are negative

/// The path's own node: its watches, and the numbers that it gives its children.
class parent_node {
public:
    explicit parent_node(std::int32_t scarce_from) : scarce_from_(scarce_from) {}

    /// Asks for a look at its data, with a watch, unless there is one. False if that still has to be answered.
    bool watch(std::vector<action>&);
    /// True if the children are to be read with a watch now.
    [[nodiscard]] bool has_to_watch_children() noexcept;

    /// How many children it has, and ever had, and the transaction that created or deleted the last one.
    struct look {
        std::int32_t children;
        std::int32_t ever;
        std::int64_t changed_by;
    };
    void looked_at(const look&);
    void watch_failed() noexcept;
    void children_watched() noexcept { children_ = watch_state::armed; }
    void children_unwatched() noexcept { children_ = watch_state::off; }
    /// A client that sets the data may delete the node next and make it again, and no watch would tell.
    void changed() noexcept;
    void refused() noexcept;
    /// Forgets the watches, and what is known by them.
    void forget() noexcept;
    void epoch_ended() noexcept;

    /// The last look, if nothing else has been learnt of the queue since.
    [[nodiscard]] const std::optional<look>& last_look() const noexcept { return last_look_; }
    void forget_look() noexcept { last_look_.reset(); }

    /// All live nodes are known, and it has had that many children.
    void know_through(std::int32_t ever, bool connected) noexcept;
    /// Every live node up to that number is known.
    [[nodiscard]] bool knows(std::int32_t sequence) const noexcept { return dense_ && sequence <= known_through_; }
    [[nodiscard]] bool is_dense() const noexcept { return dense_; }
    /// It is another node than the one before.
    void made_again() noexcept;
    /// It has given a node of ours that number. True if all that is before it is known.
    bool gave(std::int32_t sequence, bool connected) noexcept;
    /// It has given a number to a node of ours that took that of another: a downgrade.
    void gave_unseen() noexcept { ++numbers_used_; }

    /// What a look says of its next number. Past the numbers' end it says too little: a Stat counts to 2^31 only.
    void note_ever(std::int32_t ever) noexcept;
    void numbers_begin_again() noexcept { next_number_ = 0; }
    [[nodiscard]] std::int64_t next_number() const noexcept { return next_number_; }
    [[nodiscard]] bool scarce() const noexcept { return next_number_ >= scarce_from_; }

    /// There is a watch on it.
    [[nodiscard]] bool watched() const noexcept
    {
        return data_ != watch_state::off || children_ != watch_state::off || refused_watch_;
    }

private:
    bool dense_ = false;                      ///< known_through_ holds
    bool refused_watch_ = false;              ///< there may still be one that a refusal has made count for nothing
    watch_state data_ = watch_state::off;     ///< on its data
    watch_state children_ = watch_state::off; ///< on its children
    const std::int32_t scarce_from_;
    std::int32_t known_through_ = -1; ///< every live node up to this number is known
    std::int32_t numbers_used_ = 0;   ///< after that, by downgrades of ours: they count as children made
    std::int64_t next_number_ = 0;    ///< that it gives, as far as is known
    std::optional<look> last_look_;
};

} // namespace zklock::queue

#pragma once
#include "zklock/lock_options.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::queue {

/// What a contender is there for, by its name.
enum class contender_kind : std::uint8_t {
    mutex,  ///< excludes all others
    writer, ///< excludes all others, and may become a reader that keeps its number
    reader  ///< excludes all but readers
};
inline constexpr std::size_t contender_kinds = 3;
[[nodiscard]] constexpr bool is_shared(contender_kind kind) noexcept
{
    return kind == contender_kind::reader;
}

/// What a child's name tells.
struct contender_name {
    std::int32_t sequence; ///< the number it ends with: its place in the queue
    contender_kind kind;
};

/// The names on one path: how our own nodes are called, and which children are contenders. Those that all heed end with
/// `lock-` (Curator, go-zookeeper), `__lock__` (kazoo), `__WRIT__` and `__READ__` (Curator's readers and writers) or
/// `__rlock__` (kazoo's readers) and the number; what comes before that does not count. A name of ZooKeeper's own
/// WriteLock is `x-`, the session, `-` and the number. Options may add marks, which stand for mutexes.
///
/// This is a value. What options add is kept once, and shared by its copies.
class name_rules {
public:
    name_rules() noexcept = default; ///< options add nothing
    /// `mark` and `also_heeds` mean what they mean in `mutex_options`.
    name_rules(const std::string& mark, const std::vector<std::string>& also_heeds);

    /// The name to ask the server to complete with a sequence number. `uuid` (36 characters) makes the node
    /// recognisable when the answer to its create is lost; the idea is Curator's "protected" create.
    /// It is made in the uuid's own memory, as far as that has room.
    [[nodiscard]] std::string prefix(naming, contender_kind, std::string uuid) const;
    /// Reads the name of a child; the result is empty when it is no contender.
    [[nodiscard]] std::optional<contender_name> parse(std::string_view child) const noexcept;
    /// The place of a child in the queue; empty when it is no contender.
    [[nodiscard]] std::optional<std::int32_t> sequence_of(std::string_view child) const noexcept;
    /// Those of a path's children that hold the lock, in the order of the queue: the first contender, or the readers
    /// before the first that is none. A client that makes a reader of its writer in two steps has both nodes for a
    /// while.
    [[nodiscard]] std::vector<std::string> holders_of(const std::vector<std::string>& children) const;

    [[nodiscard]] std::string_view mark() const noexcept { return more_ ? more_->mark : std::string_view(); }
    [[nodiscard]] std::vector<std::string> also_heeds() const; ///< in order, each once

    friend bool operator==(const name_rules&, const name_rules&) noexcept;

private:
    struct additions {
        std::string mark;                ///< of ours; empty for the usual one
        std::vector<std::string> heeded; ///< in order, each once; empty for the number alone
        friend bool operator==(const additions&, const additions&) = default;
    };
    [[nodiscard]] std::optional<contender_kind> kind_of(std::string_view before_the_number) const noexcept;

    std::shared_ptr<const additions> more_; ///< null if there are none
};

/// What a mark of options has to be, if it is not that, besides characters that servers do not take.
[[nodiscard]] std::optional<std::string_view> fault_of_mark(std::string_view mark) noexcept;
/// Two that cannot be told apart before a number past 2^31, which has a sign.
[[nodiscard]] bool are_ambiguous(std::string_view one, std::string_view other) noexcept;

/// The name of the reader that a writer of that name becomes: only the kind is another.
[[nodiscard]] std::string reader_name(std::string_view writer);

/// The uuid by which the client knows the node that gave it that name, in the usual spelling; empty if there is none.
[[nodiscard]] std::optional<std::array<char, 36>> uuid_of(std::string_view child) noexcept;
/// The part of a name that has its uuid, if it has one: no other node's is the same, and a reader that was a writer
/// keeps it. It takes no look at each character.
[[nodiscard]] std::string_view uuid_part(std::string_view child) noexcept;
/// Whether uuid_of() finds that one, which is one in the usual spelling.
[[nodiscard]] bool has_uuid(std::string_view child, const std::array<char, 36>& uuid) noexcept;

/// The name that was asked for, before the server completed it by `sequence`.
[[nodiscard]] std::string_view prefix_of(std::string_view child, std::int32_t sequence) noexcept;

inline constexpr std::size_t sequence_digits = 10;
/// How long a mark that options add may be, in bytes.
inline constexpr std::size_t longest_mark = 64;

/// Where a parent's numbers are too close to their end at 2^31, past which they are negative and no longer grow.
inline constexpr std::int32_t sequence_limit = 2'147'000'000;

/// From here on numbers are scarce: a client that knows that asks for no more, until the parent has been made again. It
/// is far enough from the limit for the creates that are not held back: one create of each client that does not know
/// yet, or one batch.
inline constexpr std::int32_t sequence_scarce = 2'147'483'647 - (1 << 20);

} // namespace zklock::queue

#pragma once
#include <cstddef>

namespace zklock::recipes {

/// Bytes of the paths that the session's end would list. A session whose end lists more than the servers can read
/// (2 x jute.maxbuffer, 2 MiB by default) leaves its ensemble unable to serve ever again.
class node_budget {
public:
    /// Beyond `enough` only a path's first contender gets a node, beyond `limit` nobody.
    node_budget(std::size_t enough, std::size_t limit) : enough_(enough), limit_(limit) {}

    enum class verdict { granted, wait, exhausted };

    [[nodiscard]] verdict reserve(std::size_t bytes, bool first_of_path)
    {
        if (used_ + bytes > (first_of_path ? limit_ : enough_))
            return first_of_path ? verdict::exhausted : verdict::wait;
        used_ += bytes;
        return verdict::granted;
    }
    void release(std::size_t bytes) { used_ -= bytes; }
    [[nodiscard]] std::size_t used() const noexcept { return used_; }

    /// What one path takes in the transaction that ends a session: a length and the bytes.
    [[nodiscard]] static std::size_t cost(std::size_t path_length) { return path_length + 4; }

private:
    std::size_t enough_;
    std::size_t limit_;
    std::size_t used_ = 0;
};

} // namespace zklock::recipes

#pragma once
#include "store/store.hpp"
#include "zklock/client_options.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

/// The containers among a path and those above it that this client has made itself, or may have: then it had found the
/// node missing, and the answer to its create was lost. One bit for each level; higher ones are left to the servers.
class made_containers {
public:
    [[nodiscard]] bool any() const noexcept { return levels_ != 0; }
    void add(std::size_t level) noexcept { levels_ |= level < 32 ? std::uint32_t{1} << level : 0; }
    void add(const made_containers& others) noexcept { levels_ |= others.levels_; }
    void clear() noexcept { levels_ = 0; }
    /// How far above the path the lowest is; 0 is the path itself. There has to be one.
    [[nodiscard]] std::size_t lowest() const noexcept;
    void remove_lowest() noexcept { levels_ &= levels_ - 1; }
    /// All but the path itself.
    [[nodiscard]] made_containers upper() const noexcept;
    /// The lowest of them, by its path.
    [[nodiscard]] std::string_view lowest_of(std::string_view path) const noexcept;

private:
    std::uint32_t levels_ = 0;
};

/// Makes a lock's path, and what is missing above it, when a create has failed because it is not there.
class parent_maker {
public:
    explicit parent_maker(store::store& store) : store_(store) {}

    /// Answers `ok` when `path` was there or has been made; `no_node` when the chroot itself is missing; otherwise why
    /// it could not be made. One at a time, always for the same path; the maker has to live until the answer.
    void make(std::string path, parent_kind kind, std::function<void(store::outcome)> done);

    /// Nobody deletes a container that is in use. The servers clear one away some time after its last child has gone,
    /// few of them in a second; one that never had a child would stay for ever.
    made_containers made;

    [[nodiscard]] bool busy() const noexcept { return !missing_.empty(); }

private:
    void create_next();
    void finish(store::outcome);

    store::store& store_;
    store::node_kind kind_ = store::node_kind::persistent;
    std::vector<std::string> missing_; ///< the one to be created next is the last
    std::function<void(store::outcome)> done_;
};

} // namespace zklock::recipes

#pragma once
#include "recipes/session/session_part.hpp"
#include "store/store.hpp"
#include "zklock/client_options.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

/// Containers that this client has found missing, and that it may have made: the answer to its create was lost. At the
/// beginning of the next epoch, before anything else is asked for there and behind a sync, it looks: what it finds then
/// counts as made by it, and nothing that comes later; where there is nothing, it has made none. So others have made
/// what it takes for its own only if they did so between those two looks.
///
/// Left to the servers is one that a leader does not know of whom others have replaced unawares, and one that this
/// client may not look at.
class lost_containers : session_part {
public:
    using session_part::session_part;

    /// The answer to the create of a container there is lost.
    void lost(const std::string& path);
    /// Whether the node with that czxid counts as made by this client.
    [[nodiscard]] bool found(std::string_view path, std::int64_t czxid) const noexcept;
    /// The container at that path is deleted, or known to be made by another create, or is not to be deleted.
    void forget(std::string_view path) noexcept;

    void epoch_began(); ///< called by session

private:
    static constexpr std::size_t most = 4096; ///< the oldest of more are left to the servers

    struct entry {
        std::string path;
        std::int64_t czxid = 0; ///< of what was found there; 0: nobody has looked yet
    };

    [[nodiscard]] std::list<entry>::iterator find(std::string_view path) noexcept;

    std::list<entry> all_; ///< the last that was lost is the last
};

/// A container at a path, or above it, that this client has made itself, or may have: then it had found the node
/// missing, and the answer to its create was lost.
struct made_container {
    std::size_t level = 0;  ///< how far above the path; 0 is the path itself
    std::int64_t czxid = 0; ///< 0: the answer was lost
    std::int64_t mzxid = 0; ///< of the last write of its data by this client

    /// Whether what is found there now may be deleted: it is that container, nobody else has written into it, and it is
    /// empty. Where the answer was lost, nobody can tell for certain whose it is: it may go if it is the one that was
    /// found first after that (`found_first`), and was never used, for then the servers would keep even a container for
    /// ever. See lost_containers.
    [[nodiscard]] bool may_go(const store::node_stat&, bool found_first) const noexcept;
};

/// All containers that this client has made for one path, at it and above it.
class made_containers {
public:
    [[nodiscard]] bool any() const noexcept { return !made_.empty(); }
    /// Adds one, in place of what was known of its level.
    void add(const made_container& made) { made_.insert_or_assign(made.level, made); }
    /// Where both know a level, the later one counts.
    void add(const made_containers& others);
    /// The same, and the others are forgotten there.
    void take(made_containers& others)
    {
        add(others);
        others.clear();
    }
    void clear() noexcept { made_.clear(); }
    /// The one to be deleted first. There has to be one.
    [[nodiscard]] const made_container& lowest() const noexcept { return made_.begin()->second; }
    /// Forgets that one, unless it was made again meanwhile.
    void remove(const made_container&) noexcept;
    /// Forgets that one and all above it, unless it was made again meanwhile.
    void remove_from(const made_container&) noexcept;
    /// This client has set the data of the node at that level.
    void written(std::size_t level, const store::node_stat&) noexcept;
    /// All of them but the one at the path itself.
    [[nodiscard]] made_containers upper() const;

private:
    using by_level = std::map<std::size_t, made_container>;

    [[nodiscard]] by_level::iterator find(const made_container&) noexcept;

    by_level made_;
};

/// The path that is so many levels above.
[[nodiscard]] std::string_view path_above(std::string_view path, std::size_t level) noexcept;

/// Makes a lock's path, and what is missing above it, when a create has failed because it is not there.
class parent_maker {
public:
    explicit parent_maker(session& s) : session_(s) {}

    /// Answers `ok` when `path` was there or has been made; `no_node` when the chroot itself is missing; otherwise why
    /// it could not be made. One at a time, always for the same path; the maker has to live until the answer. What it
    /// makes gets that access list, or the client's.
    void make(std::string path, parent_kind kind, const std::optional<access_list>&,
              std::function<void(store::outcome)> done);

    /// The servers clear a container away some time after its last child has gone, few of them in a second; one that
    /// never had a child would stay for ever.
    made_containers made;

    [[nodiscard]] bool busy() const noexcept { return !missing_.empty(); }

private:
    void create_next();
    void finish(store::outcome);

    session& session_;
    store::node_kind kind_ = store::node_kind::persistent;
    std::optional<access_list> access_;
    std::vector<std::string> missing_; ///< the one to be created next is the last
    std::function<void(store::outcome)> done_;
};

} // namespace zklock::recipes

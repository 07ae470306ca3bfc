#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>

namespace zklock::recipes {

class session;

/// Containers that this client has found missing, and that it may have made: the answer to its create was lost. At the
/// beginning of the next epoch, before anything else is asked for there and behind a sync, it looks: what it finds then
/// counts as made by it, and nothing that comes later; where there is nothing, it has made none. So others have made
/// what it takes for its own only if they did so between those two looks.
///
/// Left to the servers is one that a leader does not know of whom others have replaced unawares, and one that this
/// client may not look at.
class lost_containers {
public:
    explicit lost_containers(session& s) : session_(s) {}
    lost_containers(const lost_containers&) = delete;
    lost_containers& operator=(const lost_containers&) = delete;

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

    session& session_;
    std::list<entry> all_; ///< the last that was lost is the last
};

} // namespace zklock::recipes

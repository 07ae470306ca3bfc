#pragma once
#include "recipes/session/session_part.hpp"
#include "store/store.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace zklock::recipes {

class session_member;

/// Which members listen at which paths. The servers keep one watch of a kind for each node and session. So members
/// share it, and pass it on to each other; and one who has no use for it any more hears whether it should be taken
/// back.
class listeners : session_part {
public:
    using session_part::session_part;

    /// The member is told of the node events of a path and its children. `path` has to live as long as it listens.
    void listen(std::string_view path, session_member& member) { by_path_.emplace(path, &member); }
    /// `watched`: it has a watch there, which others who listen may have, too. True when none does any more, and a
    /// watch is there, no matter whose: it should be taken back.
    bool stop_listening(std::string_view path, session_member&, bool watched = false);
    /// A member goes on listening, but has no use for the watch any more. True when the watch should be taken back.
    bool leave_watch(std::string_view path);
    /// One who does not listen there has no use for a watch any more. True when those who listen take it over; else it
    /// should be taken back.
    bool hand_over_watch(std::string_view path);

    /// Whether anybody may have a use for a watch on that node: then it must not be taken back.
    [[nodiscard]] bool wanted(std::string_view node) const;
    /// Whether that child of a path is a node of one who listens there.
    [[nodiscard]] bool own_child(std::string_view path, std::string_view child) const;
    /// Whether a list of a path's children lacks a node that one who listens there wants to keep.
    [[nodiscard]] bool misses_child(std::string_view path, const std::set<std::string_view>& names) const;

    // --- called by the session ---------------------------------------------------------------------------------------

    /// The node is deleted, and a watch there with it.
    void watch_used_up(std::string_view node) noexcept { forget_left_watch(node); }
    /// Something has happened to a node.
    void tell_event(store::event_kind, std::string_view node);
    /// No watch is there any more.
    void epoch_ended() noexcept { left_watches_.clear(); }

private:
    bool forget_left_watch(std::string_view path) noexcept;
    template <class Is> [[nodiscard]] bool any_at(std::string_view path, Is) const;
    template <class F> void tell_all(std::string_view path, F);

    std::multimap<std::string_view, session_member*> by_path_;
    std::set<std::string, std::less<>> left_watches_; ///< of those who do not listen any more, while others do
};

} // namespace zklock::recipes

#pragma once
#include "recipes/session/session_part.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

/// What this session has written last at each of a few parents. By that it finds out, when it goes on over another
/// connection, whether the servers were set back to a backup that has the session, and less of what it has done. (Once
/// such servers have elected a leader they let every client in, for a leader begins with a zxid that nobody has seen.)
/// A history that was set back is the beginning of the true one, and what came later. So if it has the last write, it
/// has all of them:
///
/// - *A node that was deleted is back*, no matter who had deleted it: that is lost.
/// - *A node is missing.* If it was made, and others have deleted it, the children of its parent have changed since.
///   (Or if that is gone, too, those of the next node above that is there.) So if their last change, pzxid, is older
///   than the write, the write is lost; if it is not, and of the time of the same leader, the servers have the write.
/// - *A node was found whose create was lost*, or a list did not show it. What was written after it is not known. So
///   whatever was the last write at its parent, the children are to have changed by then.
/// - Else, mostly because there has been an election and somebody has changed the children since, nobody can tell by
///   that. So all children are looked at: the session is not trusted if one of its nodes is not among them, or the
///   parent is missing (no matter who has deleted it), or if one is there that should be gone. The last 1,024 that were
///   deleted are known by name. Of other unknown ones, 64 are asked for whose they are, the oldest first. Then the last
///   write at another parent is asked for.
///
/// What is taken for one of ours then is a node of this session whose name has a uuid as ours have, and that nobody
/// knows: users have no reason to make such.
/// Not found out are nodes at parents that are not remembered; and any if the servers were set back, and then
/// elected as many leaders as this client has seen.
class own_writes : session_part {
public:
    using session_part::session_part;

    /// The answer says that this ephemeral node was made; by that transaction, if it is known already.
    void made(std::string_view node, std::int64_t czxid = 0);
    /// It was made, but the answer was lost; its parent's children had changed so when it was found, or before. 0: that
    /// is not known.
    void found(std::string_view node, std::int64_t changed);
    /// The children of a node were asked for.
    void listed(std::string_view parent, const store::children_reply&);
    /// The transaction is known that made the node that was asked for by that name, without its number.
    void numbered(std::string_view asked, std::int64_t czxid) noexcept;
    /// The answer says that it was deleted.
    void removed(std::string_view node);
    /// The same, in a transaction in which something was written later at its parent.
    void deleted(std::string_view node);
    /// How its delete was answered.
    void delete_answered(std::string_view node, store::outcome);
    /// An answer says that it is gone: it was deleted at some time since it was made. `changed`: its parent's children
    /// had changed so by then; 0: that is not known.
    void found_gone(std::string_view node, std::int64_t changed = 0);
    /// A create went unanswered, and a list does not show what it asked for by that name, which may lack the number: it
    /// was never made, or others have deleted it. The list was told before. `changed`: so had the children changed by
    /// then; 0: the parent was gone.
    void not_found(std::string_view parent, std::string_view asked, std::int64_t changed);
    /// An answer says that this parent is gone, with all of ours.
    void all_found_gone(std::string_view parent);
    /// An event says so, or may.
    void lost_to_others(std::string_view node);
    /// The same of all of ours below that node.
    void all_lost_to_others(std::string_view parent);
    /// It may be gone from now on: its delete goes to the servers.
    void may_be_gone(std::string_view node) noexcept;
    /// The last is known by an event: the server of another connection may not have got so far. (Events do not count
    /// in the zxid by which the C client keeps away from such servers.)
    [[nodiscard]] bool known_by_event() const noexcept { return known_by_event_; }

    // --- called by session

    /// The session goes on: calls `known` once the servers are known to have its writes, as far as can be told. If they
    /// were set back, the session is given up.
    void compare(std::function<void()> known);
    void session_began() noexcept;

private:
    enum class state : std::uint8_t {
        made,
        may_be_gone,
        removed,
        all_removed ///< with others of ours that were there besides, and when is not known
    };
    struct write {
        std::string node;
        std::uint64_t parents_end = 0; ///< see end_of()
        std::int64_t after = 0;        ///< the write has this zxid, or a larger one; 0: any
        bool numbered = true;          ///< or it has a larger one, which may follow
        bool ordered = true;           ///< it is later than those that stand after it
        bool there = false;            ///< as was seen over this connection
        std::int64_t found = 0; ///< the change that showed a node to be there, or gone, unless the write is later
        state now = state::made;
    };

    [[nodiscard]] std::list<write>::iterator last_at(std::string_view parent);
    void to_front(std::list<write>::iterator) noexcept;
    void showed(std::list<write>::iterator, std::int64_t changed) noexcept;
    void note(std::string_view node, state);
    /// False if nothing of ours is known there.
    bool all_gone(std::string_view parent, bool ordered);
    template <class Answer> [[nodiscard]] auto take(void (own_writes::*)(const Answer&));
    void ask();
    void on_node(const store::stat_reply&);
    void look_above(std::string_view node);
    void on_above(const store::stat_reply&);
    void on_children(const store::children_reply&);
    void look_at_children(std::size_t most);
    void on_child(const store::stat_reply&);
    void ask_for_next();
    void all_known();

    static constexpr std::size_t most_deleted = 1024;

    std::list<write> writes_; ///< one for each parent, the last first
    bool known_by_event_ = false;
    std::deque<std::size_t> deleted_;   ///< the last nodes, at any parent, by their keys
    std::int64_t largest_ = 0;          ///< zxid that is known: of this session, or of a parent's children
    std::vector<write> asked_;          ///< those still to be asked for, the last at the back
    std::string above_;                 ///< what is looked at there
    std::vector<std::string> children_; ///< likewise, the lowest number last
    std::size_t looks_left_ = 0;        ///< at such, in this epoch
    std::size_t looks_due_ = 0;         ///< those whose answers matter, in the order of the numbers
    std::function<void()> known_;
};

} // namespace zklock::recipes

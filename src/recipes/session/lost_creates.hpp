#pragma once
#include "recipes/session/session_part.hpp"
#include "store/scheduler.hpp"
#include "store/store.hpp"

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

/// The second search for creates whose answer was lost: for those whose node the first one, on the next connection, did
/// not find. (That is known_queue::look_up_unknown(), or permit_nodes::on_look_up().) It may have been answered by a
/// leader that others had replaced without its knowing: then the node may be there all the same, nobody would ever
/// delete it, and everybody would wait for it. So at each new connection they are looked for again, and deleted where
/// they appear; until a server that has looked has also done a write over the same connection. It was in touch with the
/// others then, and what had not been done by that time never will be: the session had moved to another server. Or
/// until a second look has not found it, on a connection that began so long after the answer to the first that a leader
/// who had been replaced by then would not answer a sync any more. (This is how a lease is reckoned, too: see lease.)
/// So they do not heap up where a server hangs up at each create.
///
/// Each is known by a name that this session made up and nobody else can have: a user's own node is never taken for
/// one.
class lost_creates : session_part {
public:
    using session_part::session_part;

    /// A look-up of this epoch, complete as far as the server knew, found no child of `parent` whose name begins so.
    /// `changed`: the children had changed so by then; 0: there was no parent.
    void not_found(const std::string& parent, std::string name, std::int64_t changed);

    /// One of them has made that child.
    [[nodiscard]] bool knows(std::string_view parent, std::string_view child) const;

    // --- called by session

    void epoch_began();
    void server_proved();
    void session_ended() { lost_.clear(); }

private:
    struct create {
        std::string node{};                                   ///< that it has made, if it was seen
        bool looked_for = false;                              ///< by this epoch, in vain
        std::optional<store::scheduler::time_point> missed{}; ///< when it was looked for in vain first
        std::int64_t changed = 0;                             ///< see not_found(): at the last look
    };
    using names = std::map<std::string, create, std::less<>>;

    void look_up(const std::string& parent);
    void look_up_later(const std::string& parent);
    void on_list(const std::string& parent, const std::vector<std::string>& children, std::int64_t changed);
    void forget(const std::string& parent, names&, const std::predicate<create> auto& which);
    void missed(const std::string& parent, names&);
    void remove(const std::string& parent, const std::string& name, std::string_view child);

    std::map<std::string, names, std::less<>> lost_; ///< by parent
    std::set<std::string> to_be_looked_up_;          ///< parents, once more in this epoch
    std::uint64_t epoch_ = 0;
    store::scheduler::time_point epoch_began_{};
};

} // namespace zklock::recipes

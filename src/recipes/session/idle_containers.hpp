#pragma once
#include "recipes/session/parent_maker.hpp"
#include "recipes/session/session_part.hpp"
#include "store/store.hpp"

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace zklock::recipes {

class recipe_path;

using line_of_paths =
    boost::intrusive::list<recipe_path, boost::intrusive::base_hook<boost::intrusive::list_base_hook<>>>;

/// Deletes the containers that members have made and nobody uses any more, many in a round. Each is looked at first,
/// behind a sync: what others have put in its place, or written into, stays. (Unless they put it there between that
/// look and the delete, one exchange with the servers later, and do not write to it again: the delete asks for the
/// version of the data, and there is none that asks for the node.) Then one transaction deletes what may go, and no
/// other is under way meanwhile, so that no lock's write waits for more than that. One that cannot be deleted, for
/// somebody else has just made a node in it, makes the servers refuse its company: so after a refusal fewer go
/// together, and more again as long as it goes well.
class idle_containers : session_part {
public:
    explicit idle_containers(session&);
    ~idle_containers();

    /// It is idle, and has made some. It is asked which one, by recipe_path::next_making(), when it comes up.
    void enter(recipe_path&);
    /// It ends. What is being deleted may be deleted all the same.
    void forget(recipe_path&) noexcept;
    /// There is a connection.
    void proceed();

private:
    static constexpr std::size_t most_together = 64;

    struct removal {
        recipe_path* member; ///< null: it has ended
        made_containers* of; ///< a list of the member's
        made_container which;
        std::string node;
        store::outcome found = store::outcome::unknown; ///< by the look: `ok` for what may go
        std::int32_t version = 0;
    };

    void begin_round();
    void look();
    void on_look(removal&, const store::stat_reply&);
    void on_looks();
    void send();
    void on_answer(const store::reply&, std::size_t failed);
    void take_out(recipe_path&) noexcept;
    /// Ends the last of those under way.
    void end_last(store::outcome);
    void end_round();

    line_of_paths waiting_;
    std::vector<removal> under_way_;
    std::size_t together_ = most_together;
    std::size_t looks_due_ = 0;
    bool in_round_ = false;
    bool caught_up_ = false; ///< the sync of this round went well
    bool gathering_ = false; ///< until the end of the turn
};

} // namespace zklock::recipes

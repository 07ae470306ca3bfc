#pragma once
#include "recipes/handoffs/handoffs.hpp"
#include "recipes/locks/path_part.hpp"
#include "store/peers.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/circular_buffer.hpp>

namespace zklock::recipes {

/// What a lock_path tells other clients of the nodes that it lets go, and hears of theirs, past the servers: see
/// handoffs. The servers tell all of it, too, and nothing waits for what is told here.
class path_handoffs final : path_part, handoff_source {
public:
    explicit path_handoffs(const path_part&); ///< of a client that has handoffs
    ~path_handoffs();
    path_handoffs& operator=(path_handoffs&&) = delete;

    /// The path goes next: asks for nothing any more.
    void give_way();

    // --- own nodes ---------------------------------------------------------------------------------------------------

    /// A node is about to be created for the contender, with that uuid in its name.
    [[nodiscard]] std::string offer(lock_contender&);
    /// The contender holds now; on the node of another one, if that is not null.
    void granted(lock_contender&, lock_contender* before, const queue::action&);
    /// A contender that held, or waited, is about to leave by its own will.
    void leaves(lock_contender&);
    /// The node of the contender is to be deleted. `by_own_will`: others may be told.
    void gives_up(lock_contender&, bool by_own_will);
    /// Its delete is part of what is sent next: those who wait for that node are told that it was let go; nobody, if a
    /// user has written while it was held.
    void delete_goes(lock_contender&, std::string_view node);

    // --- nodes of others ---------------------------------------------------------------------------------------------

    /// The children were listed: of the nodes before ours some may have been let go that were not known then.
    void listed();
    /// A watch on that node was confirmed, which another session owns: its data say where its client is.
    void look_at(const std::string& node, std::string_view data);
    /// A step is complete: what is not there any more is not asked for.
    void settle();

private:
    struct let_go {
        std::string node;
        store::node_secret secret;
    };

    /// The data of a node, which are mostly those of the node before it.
    struct advertisement {
        std::string own;
        std::string endpoint;
        std::shared_ptr<const std::string> whole;
    };

    void advertise(lock_contender&);
    void log_taken(const lock_contender&) const;
    void on_certified(std::string_view node, const store::node_secret&) override;
    void on_awaited() override;
    std::optional<handoffs::followed> follow(const std::string& node);
    void make_room();
    [[nodiscard]] bool waits_behind(const handoffs::node_of_others&) const noexcept;
    void remember(std::string_view node, const store::node_secret&);
    void remember_of_others(std::string_view node, const store::node_secret&);

    handoffs& all_;
    bool takes_part_ = false;               ///< one of the contenders does
    advertisement advertised_;              ///< last
    std::vector<handoffs::followed> known_; ///< nodes of others, in the order in which they were met last
    /// Of late, of others and of this client: the deletes of those nodes may be under way, or known to those alone who
    /// watch them. So their certificates go along with that of the next.
    boost::circular_buffer<let_go> let_go_{store::most_nodes_before};
    std::size_t unseen_ = 0; ///< nodes that were passed over
};

} // namespace zklock::recipes

#pragma once
#include "queue/lock_queue_action.hpp"
#include "queue/node_name.hpp"
#include "queue/own_contenders.hpp"
#include "queue/parent_node.hpp"
#include "queue/places.hpp"
#include "queue/readings.hpp"
#include "queue/watches.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zklock::queue {

/// Nodes of ours, as answers of the servers have shown them.
struct shown_nodes {
    std::vector<std::string> found;    ///< of lost creates: they are there
    std::vector<std::string> missed;   ///< they are gone: the answer was without them
    std::vector<std::string> orphaned; ///< they are gone with their parent

    [[nodiscard]] bool empty() const noexcept { return found.empty() && missed.empty() && orphaned.empty(); }
};

/// What one client knows of the queue of one path, where its own contenders stand in it, and how they get on.
class known_queue {
public:
    known_queue(std::int32_t scarce_from, name_rules names) : parent_(scarce_from), places_(std::move(names)) {}

    [[nodiscard]] const own_contenders& own() const noexcept { return own_; }
    [[nodiscard]] own_contenders& own() noexcept { return own_; }
    [[nodiscard]] const queue::places& places() const noexcept { return places_; }
    [[nodiscard]] queue::places& places() noexcept { return places_; }
    [[nodiscard]] const queue::watches& watches() const noexcept { return watches_; }
    [[nodiscard]] queue::watches& watches() noexcept { return watches_; }
    [[nodiscard]] const readings& reads() const noexcept { return reads_; }
    [[nodiscard]] readings& reads() noexcept { return reads_; }
    [[nodiscard]] const parent_node& parent() const noexcept { return parent_; }
    [[nodiscard]] parent_node& parent() noexcept { return parent_; }
    [[nodiscard]] bool connected() const noexcept { return connected_; }
    /// What is to be told and done with the next decisions: contenders whose nodes are to be deleted or inspected, of
    /// which some may be forgotten.
    [[nodiscard]] std::vector<action>& news() noexcept { return news_; }
    [[nodiscard]] bool has_news() const noexcept { return !news_.empty(); }
    /// What answers have shown since the last call.
    [[nodiscard]] shown_nodes take_shown() noexcept { return std::exchange(shown_, {}); }
    [[nodiscard]] bool has_shown() const noexcept { return !shown_.empty(); }
    [[nodiscard]] std::vector<contender_id>& to_remove() noexcept { return to_remove_; }
    [[nodiscard]] std::vector<contender_id>& to_inspect() noexcept { return to_inspect_; }

    // --- contenders of ours ---------------------------------------------------------------------------------------

    void move(contender&, phase);
    void forget(contender&, action::kind news);
    void want_again(contender&);
    void start_leaving(contender&, bool by_own_will = false);
    /// Nothing was created.
    void create_failed(contender&);
    /// Its node is known: it waits, or leaves if it was abandoned.
    void created(contender&, std::string_view node, std::int32_t sequence);
    void own_node_gone(contender_id);
    void own_node_gone(contender&);
    /// Others have deleted one of our nodes, and may have deleted more: the next is to look at its own before it is
    /// granted.
    void suspect_others();

    // --- what the server tells ------------------------------------------------------------------------------------

    /// All children, and how many there ever were. `looks_up`: the list shows all nodes whose creates are lost.
    void listed(const std::vector<std::string>& names, std::int32_t ever, bool looks_up);
    /// Whether only nodes of ours are there, by the last look at the parent, as soon as that can be said.
    void see_whether_alone();
    /// All nodes that were known are gone.
    void forget_places();
    void node_gone(std::string_view node);
    /// Its client has let the node go. False if it is not a node of another client that counts.
    bool certified(std::string_view node);

    void epoch_began();
    void contact_lost();
    void epoch_ended();
    void session_ended();

    // --- what follows from it -------------------------------------------------------------------------------------

    /// Others were met the last time: it is likely that a read will be needed.
    [[nodiscard]] bool others_expected() const noexcept { return others_expected_; }
    /// The last list had children that are no contenders.
    [[nodiscard]] bool strangers() const noexcept { return strangers_; }
    /// What is before the contenders that wait is not known yet.
    [[nodiscard]] bool seeks_coverage() const { return !own_.queued().empty() && !own_.queued().begin()->covered; }
    /// Nobody waits, and it is not known who is before those whose creates were sent.
    [[nodiscard]] bool creates_seek_coverage() const noexcept
    {
        return own_.queued().empty() && !own_.creating().empty() && (!parent_.is_dense() || others_expected_);
    }
    /// The contender that has that node and has not left, or 0.
    [[nodiscard]] contender_id contender_of(std::string_view node) const;
    /// It is the node of a contender, of one that has left, too, or one that a lost create or a downgrade has made.
    [[nodiscard]] bool owns(std::string_view node) const;
    /// A list of children lacks the node of a contender that has not left.
    [[nodiscard]] bool misses_any(const std::set<std::string_view>& names) const;
    /// Whether a contender waits behind that node, which is another client's.
    [[nodiscard]] bool waits_behind(std::string_view node) const;
    /// The nodes of other clients before the first contender that waits: the nearest first.
    [[nodiscard]] std::vector<std::string> others_before_ours(std::size_t most) const;
    /// Whether a list of children shows a contender that has not left, and excludes that kind.
    [[nodiscard]] bool busy(const std::vector<std::string>& names, contender_kind kind = contender_kind::mutex) const;

private:
    [[nodiscard]] bool own_node_from(std::int32_t sequence) const;
    void update_view(const std::vector<std::string>& names);
    void only_ours_remain(bool the_youngest, std::int32_t ever);
    void miss(const std::vector<contender_id>&);
    void orphan(contender_id);
    void look_up_unknown(const std::vector<std::string>& names, bool complete);
    void may_have_read_on(contender_kind its);
    void doubt_unwatched_before(const place_name&);

    // What each decision looks at stands together, in as few cache lines as possible: a client with many paths comes
    // back to each when it has seen to all the others.
    bool connected_ = false;
    bool others_expected_ = false;
    bool strangers_ = false;
    parent_node parent_;
    readings reads_;
    std::vector<action> news_;
    std::vector<contender_id> to_remove_;
    std::vector<contender_id> to_inspect_;
    own_contenders own_;
    queue::places places_;
    queue::watches watches_;
    shown_nodes shown_;
};

} // namespace zklock::queue

#pragma once
#include "ensemble.hpp"
#include "given_back.hpp"
#include "heard_events.hpp"
#include "plan.hpp"
#include "process.hpp"
#include "recipes/acquisition/acquisition.hpp"
#include "simulated_store.hpp"
#include "zklock/errc.hpp"
#include "zklock/events.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zklock::simulator {

/// One acquire, as its user sees it.
struct contender_record {
    enum class phase : std::uint8_t { waiting, failed, withdrawn, holding, lost, releasing, released, died };

    std::string tag; ///< first line of its node's data
    unsigned client = 0;
    unsigned path = 0;
    step wish;
    process* where = nullptr;
    simulated_store* store = nullptr;
    std::shared_ptr<recipes::acquisition> handle;
    phase now = phase::waiting;
    instant began{0};
    std::optional<process::time_point> deadline;
    recipes::grant given;
    instant granted_at{0};
    bool may_be_refused = false;         ///< others of its client were there that had other options
    bool has_to_be_refused = false;      ///< likewise, and one of them held
    bool lost = false;                   ///< was told
    given_back back;                     ///< once its release has begun
    std::shared_ptr<heard_events> heard; ///< if it has a listener
    std::optional<instant> seen_lost;    ///< when it was first seen that its handle says so

    /// Holds, as far as its own process can know.
    [[nodiscard]] bool believes() const;
};

/// What must hold, looked at from outside with the true state of the ensemble at hand.
class checker {
public:
    checker(world& w, const ensemble& e, const plan& p);

    contender_record& begin(contender_record r);
    void granted(contender_record& c, const recipes::grant& g);
    /// `ended`: what it was granted, if that was over before it could be told.
    void failed(contender_record& c, boost::system::error_code ec, const recipes::grant& ended);
    void withdrawn(contender_record& c, bool answer);
    void lost(contender_record& c);
    void releasing(contender_record& c);
    void released(contender_record& c, boost::system::error_code ec);
    /// `session` is 0 if another one began meanwhile.
    void listed(unsigned client, unsigned path, std::int64_t session, boost::system::error_code ec,
                const std::vector<contender>& queue);
    /// Now and then: whether all have been told what they must know.
    void check();
    void client_closes(unsigned client) { closing_.push_back(client); }
    void client_died(unsigned client);

    // what others did to us, which excuses some things
    void deleted_by_others(const std::string& node);
    void killed(std::int64_t session) { killed_.push_back(session); }
    void made_out_of_turn(const std::string& node) { out_of_turn_.push_back(node); }
    void set_back(); ///< the ensemble: tokens begin again

    [[nodiscard]] bool all_ended() const;                           ///< nobody waits, holds or releases
    [[nodiscard]] bool is_ours(const znode_tree::node& node) const; ///< of a session that is alive
    void finish();                                                  ///< complains about what has not ended

    /// Whether something that others did excuses what its holder does or sees.
    [[nodiscard]] bool excused(const contender_record& c) const;
    /// The owner of the node of that uuid has said that it never serves anybody again.
    void let_go(std::string_view uuid);
    /// Whether a client has been told that of a node.
    std::function<std::optional<instant>(unsigned client, const std::string& node)> told_let_go;

    [[nodiscard]] const std::deque<contender_record>& records() const noexcept { return records_; }
    [[nodiscard]] std::uint64_t grants() const noexcept { return grants_; }

private:
    [[nodiscard]] contender_record* owner_of(const std::string& node);
    void check_node_owner(contender_record& c);
    void check_grant_in_tree(contender_record& c);
    [[nodiscard]] bool waits_for_another(const std::string& node);
    /// Another client has held what it waits for, for long enough to be seen.
    [[nodiscard]] bool sees_holder(const contender_record& c) const;
    void check_holders(contender_record& c);
    void check_refusal(const contender_record&);
    void check_loss(const contender_record&);
    void check_told(contender_record& c);
    void check_releasing(contender_record& c);
    void check_waiting();
    [[nodiscard]] std::string label(const contender_record& c) const;
    void say(const contender_record& c, const std::string& what);

    world& world_;
    const ensemble& ensemble_;
    const plan& plan_;
    const instant promptly_ = plan_.set.promptly();
    bool expects_faults_ = false;
    bool expects_refusals_ = false;
    bool only_silences_ = false; ///< all that goes wrong is that a client hears nothing of the servers for a while
    std::deque<contender_record> records_;
    std::unordered_map<std::string, contender_record*> by_tag_;
    std::map<unsigned, std::int64_t> last_token_;         ///< by path
    std::unordered_map<std::string, instant> free_to_go_; ///< since when nodes wait for certificates no more
    std::map<unsigned, std::set<std::int64_t>> tokens_;   ///< by path: all that were given
    std::map<std::string, unsigned> grants_on_;           ///< by node
    std::vector<std::string> deleted_;
    std::map<unsigned, instant> last_deleted_; ///< by others, by path
    std::vector<std::string> deleted_waiting_; ///< while their contenders waited for another client
    /// Nodes whose client the servers had not told that the path's node is another, so others may have been before it.
    std::vector<std::string> granted_unaware_;
    std::set<std::string, std::less<>> let_go_; ///< uuids of nodes
    std::vector<std::int64_t> killed_;
    std::vector<std::string> out_of_turn_;
    std::vector<unsigned> closing_; ///< clients
    std::uint64_t grants_ = 0;
};

/// Whether a grant that comes before the servers have done the release leaves its holder without news of the end of its
/// own node.
[[nodiscard]] bool lacks_own_watch(const ensemble& e, const simulated_store& store, const std::string& node,
                                   instant told);

/// The sequence number of a contender's name, whoever made it; nothing for other children.
[[nodiscard]] std::optional<std::int64_t> contender_sequence(std::string_view name);
/// Whether it is a reader's, likewise.
[[nodiscard]] bool is_reader(std::string_view name);

} // namespace zklock::simulator

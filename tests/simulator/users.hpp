#pragma once
#include "given_back.hpp"
#include "heard_events.hpp"
#include "held_registers.hpp"

namespace zklock::simulator {

/// One acquire of a lock of some recipe, as its user sees it.
struct use {
    enum class phase : std::uint8_t { waiting, failed, withdrawn, holding, lost, releasing, released, died };

    std::string tag; ///< first line of its nodes' data
    unsigned client = 0;
    std::vector<unsigned> paths;
    std::uint64_t owner = 0; ///< of a re-entrant lock; holds of one owner do not exclude each other
    step wish;
    process* where = nullptr;
    simulated_store* store = nullptr;
    std::shared_ptr<recipes::acquisition> handle;
    phase now = phase::waiting;
    bool gave_up_late = false; ///< and was told that a result was on its way
    instant began{0};
    bool contradicted = false;    ///< others of its client were there that had other options
    bool must_be_refused = false; ///< likewise, and one of them held
    std::optional<process::time_point> deadline;
    std::vector<held_lock> given; ///< as granted
    instant granted_at{0};
    bool lost = false;
    std::shared_ptr<heard_events> heard; ///< if it has a listener
    std::optional<instant> seen_lost;    ///< when it was first seen that its handle says so
    given_back back;                     ///< once its release has begun
    boost::system::error_code released_with;

    /// Holds, as far as its own process can know.
    [[nodiscard]] bool believes() const
    {
        return now == phase::holding && !where->dead() && handle->held(where->now());
    }
    /// Was granted, and its release was not asked for.
    [[nodiscard]] bool has_it() const noexcept { return now == phase::holding || now == phase::lost; }
};

[[nodiscard]] bool contains(const auto& list, const auto& what)
{
    return std::ranges::find(list, what) != list.end();
}

[[nodiscard]] inline bool share_a_path(const use& a, const use& b)
{
    return std::ranges::find_first_of(a.paths, b.paths) != a.paths.end();
}

/// Users of the recipes that are built on acquisitions: they acquire, hold for a while, release; and what must hold for
/// all of them, looked at from outside with the true state of the ensemble at hand: exclusion, growing tokens, one end
/// for each operation, in time, holders who are told, nothing left behind.
class acquisition_users : public scenario {
public:
    explicit acquisition_users(stage& s);

    void perform(client& c, const step& s) override;
    void client_died(client& c) override;
    void deleted_by_others(const std::string& node) override { deleted_.push_back(node); }
    void killed(std::int64_t session) override { killed_.push_back(session); }
    void made_out_of_turn(const std::string& node) override { out_of_turn_.push_back(node); }
    void set_back() override;
    void let_go(std::string_view uuid) override;
    [[nodiscard]] std::int64_t begun() const override { return begun_; }
    [[nodiscard]] bool all_ended() const override;
    [[nodiscard]] bool is_ours(const znode_tree::node& node) const override;
    [[nodiscard]] instant holding_time() const override;
    void check() override;
    void finish() override;
    [[nodiscard]] std::uint64_t grants() const override { return grants_; }

protected:
    const instant promptly; ///< as in the settings

    /// What the step wants: paths and owner.
    virtual void choose(use&) {}
    [[nodiscard]] virtual std::shared_ptr<recipes::acquisition> start(client&, use&, recipes::acquire_call) = 0;
    virtual void check_begin(use&) {}
    virtual void check_granted(use&) {}
    /// Whether there is a reason for that error.
    [[nodiscard]] virtual bool may_fail(const use&, boost::system::error_code) const { return false; }
    /// Whether it holds that path together with others who read.
    [[nodiscard]] virtual bool reads(const use&, unsigned /*path*/) const { return false; }
    /// Whether it does so by now, or is about to.
    [[nodiscard]] virtual bool shares(const use& u, unsigned path) const { return reads(u, path); }
    /// Whether the two may not hold a path at the same time.
    [[nodiscard]] virtual bool exclude(const use& a, const use& b, unsigned path) const
    {
        return !reads(a, path) || !reads(b, path);
    }
    /// Whether one holder at a time, or readers together, have what was granted.
    [[nodiscard]] virtual bool uses_registers() const { return true; }
    /// How many nodes one acquire may get while it waits, if that is limited.
    [[nodiscard]] virtual unsigned most_attempts(const use&) const { return 0; }
    /// Its node may serve others of its client before and after it.
    [[nodiscard]] virtual bool passes_nodes_on(const use& u) const
    {
        return stage_.the_plan.agreed(u.wish).passes_nodes_on();
    }
    /// How often one may hold, at most.
    [[nodiscard]] virtual unsigned most_turns() const { return 3; }
    /// The nodes that it stands on by now.
    [[nodiscard]] virtual std::vector<std::string> nodes_of(const use&) const;
    /// It is told that it has lost what it was granted.
    virtual void check_loss(const use&) {}
    /// Its listener was told that.
    virtual void heard(use&, const lock_event&) {}
    /// Its listener has to have been told that last: each acquire of these users is one of the lock's.
    virtual void check_heard(const use&, lock_event::kind, boost::system::error_code) {}
    virtual void releases(client&, use&) {} ///< its release is about to be asked for
    /// Its hold is over and given back.
    virtual void ended(client&, use&) {}
    virtual void reads_on(use&) {}       ///< it was a writer, and goes on as a reader
    virtual void give_up(client&, use&); ///< at the step's time for that

    /// An acquire that belongs to a step.
    void begin(client& c, const step& s);
    void acquire(client& c, use& u);
    void release(client& c, use& u);
    [[nodiscard]] mutex_options options_of(const use&, queue::contender_kind = queue::contender_kind::mutex) const;
    [[nodiscard]] std::string label(const use&) const;
    void say(const use&, const std::string& what);
    void violate(const use& u, const std::string& what) { stage_.world.violate(label(u) + ": " + what); }
    [[nodiscard]] virtual bool excused(const use&) const;
    /// Releases may end later than their time, or never be told.
    [[nodiscard]] bool late_releases() const { return refusals_; }
    /// Others have ended that session, or deleted one of the nodes; or the servers had not told of the end of the path
    /// before.
    [[nodiscard]] bool was_harmed(std::int64_t session, const std::vector<held_lock>& given) const;
    /// Others have deleted a node that it has now.
    [[nodiscard]] virtual bool is_deleted(const use&) const;
    [[nodiscard]] bool is_out_of_turn(const std::string& node) const;
    /// Who has made that node, if its data says so.
    [[nodiscard]] use* maker_of(const std::string& node);
    [[nodiscard]] bool comes_first(const use&);
    /// The servers had not told it that the path's node is another, so others may have been before it.
    [[nodiscard]] bool was_unaware(const use&) const;
    [[nodiscard]] instant now() const noexcept { return stage_.world.time.now(); }
    /// No pause has delayed what the process does now.
    [[nodiscard]] bool on_time(const use& u) const { return u.where->paused_until() + promptly < now(); }
    void check_told(use&);
    /// Whoever looks once is not kept waiting for others.
    void check_look_once(use&);
    /// A reader's token is larger than those of the writers before it, any other's than those of all.
    virtual void check_token(use&, const held_lock&, unsigned path);
    /// A grant that is believed must be true at the leader.
    virtual void check_lock(use& u, const held_lock& l, unsigned path);
    virtual void check_node(use& u, const held_lock& l);
    /// The node that it was granted is of a session that lives, and has the access list that it was to have.
    void check_owner(const use& u, const znode_tree::node& granted);

    /// Something goes wrong by which locks may be lost, and releases fail; or looks like that.
    [[nodiscard]] bool expects_faults() const { return expects_faults_ || stage_.world.writes_undone; }

    stage& stage_;
    std::deque<use> uses_;
    const bool calm_;                  ///< nothing goes wrong in this schedule
    std::vector<std::string> deleted_; ///< by others

private:
    void note_other_options(use& u);
    void granted(client& c, use& u, const recipes::grant& g);
    void use_registers(client& c, use& u);
    void check_maker(use& u, const held_lock& l);
    void check_before(use& u, const held_lock& l, unsigned path);
    [[nodiscard]] bool knew_of_delete(const use& u, instant before) const;
    void lost(use& u);
    /// `ended`: what it was granted, if that was over before it could be told.
    void failed(use& u, boost::system::error_code ec, const recipes::grant& ended);
    void timed_out(use& u, bool for_others);
    void check_refusal(const use& u);
    [[nodiscard]] bool sees_holder(const use& u) const;
    void check_releasing(const use& u);
    void released(const client& c, use& u, boost::system::error_code ec);

    std::int64_t begun_ = 0;
    std::uint64_t grants_ = 0;
    held_registers registers_;
    bool refusals_ = false;
    std::unordered_map<std::string, use*> by_tag_;
    struct last_grant {
        std::int64_t token = 0;
        std::uint64_t owner = 0;
        std::string node;
        std::int64_t readers = 0; ///< the largest token of theirs
    };
    std::map<unsigned, last_grant> last_;                     ///< by path
    std::map<std::string, std::set<std::int64_t>> tokens_of_; ///< by node
    std::vector<std::int64_t> killed_;
    std::vector<std::string> out_of_turn_;
    bool expects_faults_ = false;              ///< by the plan
    std::vector<std::string> granted_unaware_; ///< nodes
};

[[nodiscard]] std::unique_ptr<scenario> make_mutex_users(stage&);
[[nodiscard]] std::unique_ptr<scenario> make_reentrant_users(stage&);
[[nodiscard]] std::unique_ptr<scenario> make_multi_users(stage&);
[[nodiscard]] std::unique_ptr<scenario> make_election_users(stage&);
[[nodiscard]] std::unique_ptr<scenario> make_node_watch_users(stage&);
[[nodiscard]] std::unique_ptr<scenario> make_owned_users(stage&);
[[nodiscard]] std::unique_ptr<scenario> make_semaphore_users(stage&);
[[nodiscard]] std::unique_ptr<scenario> make_transaction_users(stage&);
[[nodiscard]] std::unique_ptr<scenario> make_shared_users(stage&);
[[nodiscard]] std::unique_ptr<scenario> make_shared_users_who_ask(stage&);
[[nodiscard]] std::unique_ptr<scenario> make_revocation_users(stage&);

} // namespace zklock::simulator

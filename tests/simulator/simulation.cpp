#include "simulation.hpp"

#include "checker.hpp"
#include "held_registers.hpp"
#include "mutants/mutants.hpp"
#include "stage.hpp"
#include "users.hpp"

#include <algorithm>
#include <memory>

namespace zklock::simulator {

namespace {

/// The users of the mutex.
class mutex_users final : public scenario {
public:
    explicit mutex_users(stage& s) : stage_(s), checker_(s.world, s.ensemble, s.the_plan), registers_(s)
    {
        checker_.told_let_go = [&s](unsigned client, const std::string& node) { return s.told_let_go(client, node); };
    }

    void perform(client& c, const step& s) override { s.what == act::list ? list(c, s) : acquire(c, s); }
    void client_closes(client& c) override { checker_.client_closes(c.number); }
    void client_died(client& c) override { checker_.client_died(c.number); }
    void deleted_by_others(const std::string& node) override { checker_.deleted_by_others(node); }
    void killed(std::int64_t session) override { checker_.killed(session); }
    void made_out_of_turn(const std::string& node) override { checker_.made_out_of_turn(node); }
    void set_back() override
    {
        checker_.set_back();
        registers_.set_back();
    }
    void let_go(std::string_view uuid) override
    {
        checker_.let_go(uuid);
        registers_.let_go(uuid);
    }
    [[nodiscard]] std::int64_t begun() const override { return contenders_; }
    [[nodiscard]] bool all_ended() const override { return checker_.all_ended(); }
    [[nodiscard]] bool is_ours(const znode_tree::node& node) const override { return checker_.is_ours(node); }
    [[nodiscard]] instant holding_time() const override
    {
        instant all{0};
        const auto delays = 20 * instant(stage_.the_plan.set.slow_message());
        for (const auto& c : checker_.records())
            all += instant(c.wish.duration) + delays;
        return all;
    }
    void check() override { checker_.check(); }
    void finish() override { checker_.finish(); }
    [[nodiscard]] std::uint64_t grants() const override { return checker_.grants(); }

private:
    void acquire(client& c, const step& s);
    void release(contender_record& c);
    void list(client& c, const step& s);
    /// Another one has held on its node before.
    [[nodiscard]] bool was_passed_on(const contender_record& c) const
    {
        const auto& all = checker_.records();
        return std::any_of(all.begin(), all.end(), [&c](auto& o) { return &o != &c && o.given.node == c.given.node; });
    }
    [[nodiscard]] bool is_there(const std::string& node) const
    {
        return stage_.ensemble.leaders_tree().find(node) != nullptr;
    }

    stage& stage_;
    checker checker_;
    held_registers registers_;
    unsigned contenders_ = 0;
};

void mutex_users::acquire(client& where, const step& s)
{
    contender_record fresh;
    fresh.tag = "c" + std::to_string(s.who) + '.' + std::to_string(++contenders_);
    fresh.client = s.who;
    fresh.path = s.path;
    fresh.wish = s;
    fresh.where = &where.where;
    fresh.store = &where.store;
    fresh.began = stage_.world.time.now();
    if (s.deadline && !s.look_once)
        fresh.deadline = where.where.now() + *s.deadline;
    auto& c = checker_.begin(std::move(fresh));

    mutex_options options;
    options.identifier = c.tag;
    options.max_attempts = s.max_attempts;
    const agreed_options& agreed = stage_.the_plan.agreed(s);
    options.names = agreed.names;
    options.linger = agreed.linger;
    options.cohort = agreed.cohort;
    options.mark = stage_.the_plan.set.mark;
    options.also_heeds = stage_.the_plan.set.also_heeds;
    options.parents = stage_.the_plan.set.parents_are_containers ? parent_kind::container : parent_kind::persistent;
    options.access = access_of_locks(stage_.the_plan);
    if (has_listeners(stage_.the_plan)) {
        const auto wrong = [this, &c](const std::string& what) { stage_.world.violate(c.tag + ": " + what); };
        c.heard =
            std::make_shared<heard_events>(s.max_attempts, agreed.passes_nodes_on(), wrong, [](const lock_event&) {});
        options.listener = c.heard;
    }
    recipes::acquire_request request;
    request.path = path_of(s.path);
    request.options = options;
    request.mode = s.look_once ? recipes::acquire_mode::look_once : recipes::acquire_mode::wait;
    request.deadline = c.deadline;
    request.done = [this, &c, &where](boost::system::error_code ec, const recipes::grant& g) {
        if (!stage_.may_tell(where))
            return;
        if (ec)
            return checker_.failed(c, ec, g);
        checker_.granted(c, g);
        registers_.granted({c.tag, &where, c.path, g.node, c.wish.choice, c.wish.duration,
                            [&c] { return c.believes(); }, [this, &c] { return checker_.excused(c); },
                            [] { return false; }});
        if (mutants::on(mutants::id::handoff_given_before_the_release) ||
            (mutants::on(mutants::id::handoff_node_passed_on_afterwards) && was_passed_on(c)))
            where.tell_too_early(g.node);
        (void)where.where.call_at(where.where.now() + c.wish.duration, [this, &c] { release(c); });
    };
    request.lost = [this, &c, &where] {
        if (stage_.may_tell(where))
            checker_.lost(c);
    };
    const auto start = [&](recipes::session&) { c.handle = where.locks->acquire(std::move(request)); };
    if (!stage_.try_call(where, start))
        return client_died(where); // now, or before in this step
    if (s.withdraw_after) {
        (void)where.where.call_at(where.where.now() + *s.withdraw_after, [this, &c, &where] {
            if (c.now != contender_record::phase::waiting)
                return;
            bool answer = false;
            const auto stop = [&](recipes::session&) { answer = c.handle->withdraw(); };
            if (stage_.try_call(where, stop))
                checker_.withdrawn(c, answer);
        });
    }
}

void mutex_users::release(contender_record& c)
{
    auto& where = stage_.current(c.client);
    checker_.releasing(c);
    if (mutants::on(mutants::id::handoff_told_without_a_connection) && !where.store.connected())
        where.tell_too_early(c.given.node);
    const bool after_the_end = where.closed; // a call made then is answered all the same
    std::function<void(boost::system::error_code)> released = [this, &c, &where, after_the_end](const auto& ec) {
        scarce_memory::ends();
        if (!after_the_end && !stage_.may_tell(where))
            return;
        checker_.released(c, ec);
        if (mutants::on(mutants::id::handoff_while_lingering) && is_there(c.given.node))
            where.tell_too_early(c.given.node);
    };
    (void)stage_.try_call(where, [&](recipes::session&) { c.handle->release(std::move(released)); });
}

void mutex_users::list(client& where, const step& s)
{
    stage_.call(where, [&](recipes::session& session) {
        const auto told = [this, &s, &where, id = session.id()](boost::system::error_code ec,
                                                                const std::vector<contender>& queue) {
            if (!stage_.may_tell(where))
                return;
            checker_.listed(s.who, s.path, id == where.session->id() ? id : 0, ec, queue);
        };
        const auto& set = stage_.the_plan.set;
        recipes::list_contenders(*where.session, path_of(s.path), told,
                                 recipes::list_kind::queue_named({set.mark, set.also_heeds}));
    });
}

verdict simulate_once(const plan& p, bool traced)
{
    stage s(p, traced);
    switch (p.which) {
    case recipe::mutex: return s.run(*std::make_unique<mutex_users>(s));
    case recipe::reentrant_mutex: return s.run(*make_reentrant_users(s));
    case recipe::multi_lock: return s.run(*make_multi_users(s));
    case recipe::election: return s.run(*make_election_users(s));
    case recipe::node_watch: return s.run(*make_node_watch_users(s));
    case recipe::semaphore: return s.run(*make_semaphore_users(s));
    case recipe::transaction: return s.run(*make_transaction_users(s));
    case recipe::owned_shared_mutex: return s.run(*make_owned_users(s));
    case recipe::shared_mutex: return s.run(*make_shared_users(s));
    case recipe::revocation: return s.run(*make_revocation_users(s));
    }
    return {};
}

/// Where nobody reaches anybody, clients ask the servers for the same, and at the same times, as without peers.
std::string first_difference(const verdict& dead, const verdict& none)
{
    const auto until = std::min(dead.ended, none.ended); // what comes after it depends on when somebody looks
    const auto until_then = [until](const std::vector<noted_request>& all) {
        return std::find_if(all.begin(), all.end(), [until](const auto& r) { return r.at > until; });
    };
    const auto end = until_then(dead.requests);
    const auto end_without = until_then(none.requests);
    const auto [with, without] = std::mismatch(dead.requests.begin(), end, none.requests.begin(), end_without);
    if (with == end && without == end_without)
        return {};
    const auto told = [](auto it, auto last) {
        return it == last ? "nothing" : it->what + " at " + std::to_string(it->at.count()) + " ns";
    };
    return "with dead peers, " + told(with, end) + "; without peers, " + told(without, end_without);
}

} // namespace

verdict simulate(const plan& p, bool traced)
{
    if (p.set.peers != peer_life::dead)
        return simulate_once(p, traced);
    auto noted = p;
    noted.set.requests_noted = true;
    auto dead = simulate_once(noted, traced);
    if (!dead.violation.empty())
        return dead;
    noted.set.peers = peer_life::none;
    dead.violation = first_difference(dead, simulate_once(noted, false));
    return dead;
}

} // namespace zklock::simulator

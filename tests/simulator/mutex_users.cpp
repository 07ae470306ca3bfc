#include "mutex_users.hpp"

#include "contender_names.hpp"
#include "mutants/mutants.hpp"

namespace zklock::simulator {

using phase = use::phase;

mutex_users::mutex_users(stage& s) : acquisition_users(s)
{
    const auto& set = s.the_plan.set;
    only_silences_ = set.peers == peer_life::alive && set.one_peer_fault_in == 0 && set.one_fault_in == 0 &&
                     set.scarce_memory == 0 && !set.leases_may_end_in_calm();
    for (const auto& t : s.the_plan.steps)
        only_silences_ &=
            t.what == act::acquire || t.what == act::list || t.what == act::block || t.what == act::set_register;
}

void mutex_users::set_back()
{
    acquisition_users::set_back();
    deleted_waiting_.clear();
}

void mutex_users::check()
{
    acquisition_users::check();
    for (unsigned p = 0; only_silences_ && p < stage_.the_plan.set.paths; ++p)
        check_waiting(p);
}

void mutex_users::check_lock(use& u, const held_lock& l, unsigned path)
{
    acquisition_users::check_lock(u, l, path);
    if (u.must_be_refused)
        violate(u, "granted, though another one of its client held with other options when it came");
    // Whoever is told of a release by its predecessor may be so before the servers tell of the end of its own node.
    const bool deleted = contains(deleted_waiting_, l.node);
    if (deleted && stage_.the_plan.set.peers != peer_life::alive)
        violate(u, "granted, though others deleted its node while it waited for another client");
    if (stage_.ensemble.leaders_tree().find(l.node) != nullptr)
        check_order(u, l);
}

/// Strictly first come, first served within the client too. A waiter may own an orphan that is being deleted.
void mutex_users::check_order(const use& u, const held_lock& l)
{
    const auto own = contender_sequence(queue::name_of(l.node));
    std::map<const use*, std::int64_t> newest;
    for (const auto& name : stage_.ensemble.leaders_tree().children(l.path)) {
        const auto* const other = maker_of(l.path + '/' + name);
        if (other == nullptr || other->client != u.client)
            continue;
        const auto number = contender_sequence(name).value_or(0);
        if (other->now == phase::waiting)
            newest[other] = std::max(newest[other], number);
        else if (other != &u && number < own && other->believes())
            violate(u, "granted while " + other->tag + " holds");
    }
    for (const auto& [other, number] : newest)
        if (own && number < *own)
            violate(u, "granted before " + other->tag + ", which came first");
}

/// What was granted is not lost by the lease if the servers have answered ever since.
void mutex_users::check_loss(const use& u)
{
    const auto& set = stage_.the_plan.set;
    if (set.scarce_memory != 0 || set.leases_may_end_in_calm())
        return;
    const auto loss = u.handle->loss(u.where->now());
    const bool ran = u.where->paused_until() + promptly <= u.granted_at; // the news of the grant was not late
    if (loss && loss->reason == loss_reason::lease_ended && ran && u.store->served_since(u.granted_at))
        violate(u, "its lease has ended, though the servers have answered since the grant");
}

void mutex_users::deleted_by_others(const std::string& node)
{
    acquisition_users::deleted_by_others(node);
    const auto* const u = maker_of(node);
    if (u == nullptr)
        return;
    // After another delete the client may still think that the contender is not its first.
    const auto last = last_deleted_.find(u->paths.front());
    const bool alone =
        last == last_deleted_.end() || last->second + 2 * instant(stage_.the_plan.set.session_timeout) < now();
    if (alone && waits_for_another(*u, node))
        deleted_waiting_.push_back(node);
    last_deleted_[u->paths.front()] = now();
}

/// It waits, is the first of its client, and another client is before it.
bool mutex_users::waits_for_another(const use& u, const std::string& node) const
{
    if (u.now != phase::waiting)
        return false;
    const auto& tree = stage_.ensemble.leaders_tree();
    const auto own = contender_sequence(queue::name_of(node));
    const auto path = path_of(u.paths.front());
    bool another = false;
    for (const auto& name : tree.children(path)) {
        const auto number = contender_sequence(name);
        if (!number || *number >= *own || is_out_of_turn(path + '/' + name))
            continue;
        if (tree.find(path + '/' + name)->owner == tree.find(node)->owner)
            return false;
        another = true;
    }
    return another;
}

/// Whoever has been told of the release of all nodes of others before its own does not wait for the servers to do it.
void mutex_users::check_waiting(unsigned path)
{
    const auto& tree = stage_.ensemble.leaders_tree();
    std::map<std::int64_t, std::string> nodes; // by number
    for (const auto& name : tree.children(path_of(path)))
        if (const auto number = contender_sequence(name))
            nodes[*number] = path_of(path) + '/' + name;
    for (auto own = nodes.begin(); own != nodes.end(); ++own) {
        const auto& node = own->second;
        const auto* const u = maker_of(node);
        const auto let_go = [&](const auto& other) {
            return tree.find(other.second)->owner != tree.find(node)->owner &&
                   stage_.told_let_go(u->client, other.second);
        };
        const bool waits = u != nullptr && u->now == phase::waiting && u->store->undisturbed();
        if (!waits || own == nodes.begin() || !std::all_of(nodes.begin(), own, let_go)) {
            free_to_go_.erase(node);
            continue;
        }
        const auto since = free_to_go_.emplace(node, now()).first->second;
        if (now() > since + instant(stage_.the_plan.set.a_while()))
            violate(*u, "waits, though all before it were let go, and it was told so");
    }
}

namespace {

/// The users of the mutex itself: they ask who is there, too, and some of them try a few times only.
class listing_users final : public mutex_users {
public:
    using mutex_users::mutex_users;

    void perform(client& c, const step& s) override
    {
        s.what == act::list ? list(c, s.path) : acquisition_users::perform(c, s);
    }

private:
    [[nodiscard]] unsigned most_turns() const override { return 1; }
    [[nodiscard]] unsigned most_attempts(const use& u) const override { return u.wish.max_attempts; }

    void list(client& c, unsigned path)
    {
        stage_.call(c, [&](recipes::session& session) {
            const auto told = [this, path, &c, id = session.id()](boost::system::error_code ec,
                                                                  const std::vector<contender>& queue) {
                if (stage_.may_tell(c))
                    listed(c, path, id == c.session->id() ? id : 0, ec, queue);
            };
            const auto& set = stage_.the_plan.set;
            recipes::list_contenders(session, path_of(path), told,
                                     recipes::list_kind::queue_named({set.mark, set.also_heeds}));
        });
    }

    /// `session` is 0 if another one began meanwhile.
    void listed(const client& c, unsigned path, std::int64_t session, boost::system::error_code ec,
                const std::vector<contender>& queue)
    {
        const auto wrong = [&](const std::string& what) {
            stage_.world.violate("contenders() of client" + std::to_string(c.number) + " on " + path_of(path) + ": " +
                                 what);
        };
        if (ec && !expects_faults() && ec != make_error_code(errc::closed))
            wrong(ec.message());
        for (std::size_t i = 0; i < queue.size(); ++i) {
            const auto& each = queue[i];
            if (i != 0 && each.sequence < queue[i - 1].sequence)
                wrong("not in order");
            if (contender_sequence(queue::name_of(each.node)) != each.sequence)
                wrong("lists " + each.node);
            if (session != 0 && each.ours != (each.session_id == session))
                wrong("wrong about whose " + each.node + " is");
        }
    }

    // Mutants: others are told of a node too early.

    void check_granted(use& u) override
    {
        const auto& node = u.given.front().node;
        const bool passed_on = std::any_of(uses_.begin(), uses_.end(), [&](const use& o) {
            return &o != &u && !o.given.empty() && o.given.front().node == node;
        });
        if (mutants::on(mutants::id::handoff_given_before_the_release) ||
            (mutants::on(mutants::id::handoff_node_passed_on_afterwards) && passed_on))
            stage_.current(u.client).tell_too_early(node);
    }
    void releases(client& c, use& u) override
    {
        if (mutants::on(mutants::id::handoff_told_without_a_connection) && !c.store.connected())
            c.tell_too_early(u.given.front().node);
    }
    void ended(client& c, use& u) override
    {
        const auto& node = u.given.front().node;
        const bool is_there = stage_.ensemble.leaders_tree().find(node) != nullptr;
        if (mutants::on(mutants::id::handoff_while_lingering) && is_there)
            c.tell_too_early(node);
    }
};

} // namespace

std::unique_ptr<scenario> make_mutex_users(stage& s)
{
    return std::make_unique<listing_users>(s);
}

} // namespace zklock::simulator

// The users of the shared mutex: readers, writers, and writers who read on.
#include "asking_users.hpp"

#include "mutants/mutants.hpp"

namespace zklock::simulator {

namespace {

class shared_users : public acquisition_users {
public:
    using acquisition_users::acquisition_users;

protected:
    static constexpr bool one_holds = false;

    struct role {
        bool writes = false;
        bool downgrades = false;         ///< it wants to, some time
        bool downgrading = false;        ///< it has asked for it: there may be readers with it
        std::optional<instant> ended_at; ///< it neither waits nor holds any more
    };

    void choose(use& u) override
    {
        // Of sixteen users, so many write.
        static constexpr unsigned writers[] = {1, 4, 8};
        auto& r = roles_[&u];
        r.writes = u.wish.choice % 16 < writers[stage_.the_plan.seed / 3 % 3];
        r.downgrades = r.writes && u.wish.choice / 16 % 2 == 0;
    }

    std::shared_ptr<recipes::acquisition> start(client& c, use& u, recipes::acquire_call call) override
    {
        using enum queue::contender_kind;
        const auto kind = roles_.at(&u).writes ? writer : reader;
        return c.locks->acquire({std::move(call), {path_of(u.paths.front()), options_of(u, kind), kind}});
    }

    bool passes_nodes_on(const use&) const override { return false; }
    std::vector<std::string> nodes_of(const use& u) const override
    {
        const auto& r = roles_.at(&u);
        if (r.downgrading)
            return {}; // its reader's node is about to take the place of its own
        return {r.writes ? u.given.front().node : u.given.back().node};
    }
    bool reads(const use& u, unsigned) const override { return !roles_.at(&u).writes; }
    bool shares(const use& u, unsigned) const override
    {
        const auto& r = roles_.at(&u);
        return !r.writes || r.downgrading;
    }
    bool exclude(const use& a, const use& b, unsigned) const override
    {
        const auto alone = [this](const use& u) { return roles_.at(&u).writes && !roles_.at(&u).downgrading; };
        return alone(a) || alone(b);
    }

    void check_granted(use& u) override
    {
        check_readers(u);
        if (!roles_.at(&u).downgrades)
            return;
        (void)u.where->call_at(u.where->now() + u.wish.duration / 2, [this, &u] { downgrade(u); });
    }

    void downgrade(use& u)
    {
        if (u.now != use::phase::holding || u.where->dead())
            return;
        auto& c = stage_.current(u.client);
        if (c.closing)
            return;
        auto& r = roles_.at(&u);
        r.downgrading = true;
        say(u, "wants to read on");
        const std::string reader = child_of_path(u, queue::reader_name(queue::name_of(u.given.front().node)));
        // It may have that one already.
        u.given.push_back({u.given.front().path, reader, u.given.front().fencing_token});
        for (unsigned i = 0; u.wish.choice / 32 % 4 == 1 && i <= stage_.the_plan.set.users_window; ++i)
            commit(c, u);
        bool begun = false;
        stage_.call(c, [&](recipes::session&) {
            begun = u.handle->downgrade([this, &c, &u](boost::system::error_code ec, const recipes::grant& g) {
                if (!stage_.may_tell(c))
                    return;
                downgraded(u, ec, g);
                if (!ec && mutants::on(mutants::id::shared_handoff_on_a_downgrade))
                    c.tell_too_early(g.node);
            });
        });
        if (!begun)
            violate(u, "a writer's downgrade is not begun");
    }

    /// It changes nothing, and is refused at most: the writer's guard has its node no more. Of several, some come up
    /// only when the downgrade has been sent. Where an operator has deleted the node, it hears of the loss sooner than
    /// the downgrade.
    void commit(client& c, use& u)
    {
        recipes::grant given;
        given.node = u.given.front().node;
        given.kind = queue::contender_kind::writer;
        stage_.call(c, [&](recipes::session&) {
            const auto told = [this, &c, &u](boost::system::error_code ec, const commit_result&) {
                if (!ec || !stage_.may_tell(c))
                    return;
                say(u, "a commit of the writer ends: " + ec.message());
                if (ec != make_error_code(errc::lost) || excused(u))
                    return;
                if (u.now == use::phase::holding && u.handle->held(u.where->now()))
                    violate(u, "its commit was refused for the loss of a lock that it holds");
            };
            (void)recipes::nodes::commit(*c.session, ::zklock::transaction(), recipes::nodes::claim{u.handle, given},
                                         told);
        });
    }

    void downgraded(use& u, boost::system::error_code ec, const recipes::grant& g)
    {
        say(u, ec ? "does not read on: " + ec.message() : "reads on with " + g.node);
        auto& r = roles_.at(&u);
        if (!r.downgrading || u.now == use::phase::releasing || u.now == use::phase::released) {
            return violate(u, "told of a downgrade, though it had released");
        }
        if (ec == make_error_code(errc::lost)) {
            if (u.believes())
                violate(u, "its downgrade found it lost, and yet its lease goes on");
            return;
        }
        r.downgrading = false;
        if (ec) {
            if (ec != make_error_code(errc::access_denied) && ec != make_error_code(errc::closed)) {
                violate(u, "its downgrade failed without a reason: " + ec.message());
            }
            return;
        }
        r.writes = false;
        if (g.node != u.given.back().node)
            violate(u, "reads on with another node: " + g.node);
        reads_on(u);
        if (g.fencing_token != u.given.front().fencing_token)
            violate(u, "reads on with another token");
        const auto& tree = stage_.ensemble.leaders_tree();
        if (const auto* const node = tree.find(g.node); node && !has_access_of_locks(*node, stage_.the_plan))
            violate(u, "reads on with another access list");
        if (u.believes() && !excused(u)) {
            if (tree.find(g.node) == nullptr)
                violate(u, "reads on without a node");
            if (tree.find(u.given.front().node) != nullptr)
                violate(u, "reads on, and its writer's node is left");
        }
        for (const auto& other : uses_) {
            if (&other == &u || other.paths != u.paths || !exclude(u, other, u.paths.front()))
                continue;
            if (other.believes() && u.believes() && !excused(other) && !excused(u)) {
                violate(u, "reads on while " + label(other) + " believes that it holds alone");
            }
        }
    }

    void ended(client&, use& u) override
    {
        roles_.at(&u).ended_at = now();
        check_readers(u);
    }

    /// Where nothing goes wrong and nobody writes, readers do not wait for each other.
    void check_readers(const use& holder)
    {
        const instant a_while = stage_.the_plan.set.a_while();
        if (!alone_ || now() < a_while)
            return;
        for (const auto& u : uses_) {
            const bool waits = u.now == use::phase::waiting && u.paths == holder.paths && !roles_.at(&u).writes;
            if (!waits || now() < u.began + a_while)
                continue;
            const bool behind_writers = std::any_of(uses_.begin(), uses_.end(), [&](const use& w) {
                const auto& r = roles_.at(&w);
                return w.paths == u.paths && (r.writes || r.downgrades) &&
                       (!r.ended_at || *r.ended_at + a_while > now());
            });
            if (!behind_writers)
                violate(u, "reads behind " + label(holder) + ", who reads too, and has to wait");
        }
    }

    static std::string child_of_path(const use& u, const std::string& name)
    {
        return path_of(u.paths.front()) + '/' + name;
    }

    /// Where numbers are scarce, readers too are held back until the path is empty.
    const bool alone_ = is_calm(stage_.the_plan, company::none) && !stage_.the_plan.set.may_run_short() &&
                        !stage_.the_plan.set.leases_may_end_in_calm();
    std::map<const use*, role> roles_;
};

} // namespace

std::unique_ptr<scenario> make_shared_users(stage& s)
{
    return std::make_unique<shared_users>(s);
}

std::unique_ptr<scenario> make_shared_users_who_ask(stage& s)
{
    return std::make_unique<users_who_ask<shared_users>>(s);
}

} // namespace zklock::simulator

// Of the shared mutex for owners: two in each client, who read and write, again and again.
#include "reentrant_users.hpp"

#include "contender_names.hpp"

namespace zklock::simulator {

namespace {

using phase = use::phase;

class owned_users final : public reentrant_users {
public:
    using reentrant_users::reentrant_users;

    /// Some owners ask for two at once, of which one writes, or soon does not want to any more.
    void perform(client& c, const step& s) override
    {
        if (s.what != act::acquire || s.choice / 64 % 2 != 0)
            return reentrant_users::perform(c, s);
        auto reader = s;
        auto writer = s;
        reader.duration = 2 * s.duration;
        if (s.choice / 256 % 2 == 0) {
            reader.withdraw_after.reset();
            reader.look_once = false;
            writer.withdraw_after = s.choice / 512 % 64 * stage_.the_plan.set.slow_message() / 16;
            writer.look_once = s.choice / 131072 % 2 == 0;
        }
        const bool writer_first = s.choice / 32768 % 4 != 0; // or it is refused
        begin_another(c, writer_first ? writer : reader, writer_first);
        begin_another(c, writer_first ? reader : writer, !writer_first);
        --others_; // one of them is in the plan
    }

    [[nodiscard]] std::int64_t begun() const override { return reentrant_users::begun() - others_; }

    void check() override
    {
        reentrant_users::check();
        for (const auto& u : uses_) {
            auto& r = roles_.at(&u);
            if (!r.ended_at && !active(u))
                r.ended_at = now();
        }
        for (const auto& u : uses_) {
            check_reader(u);
            check_node_held(u);
        }
    }

private:
    struct role {
        bool writes = false;
        std::optional<instant> ended_at; ///< it neither waits nor holds any more
        // What its owner does, when it begins.
        bool reads = false;    ///< it reads, for certain, and does not write
        bool may_read = false; ///< it reads, or waits to, and does not write
    };

    [[nodiscard]] static bool active(const use& u)
    {
        return u.now == phase::waiting || u.has_it() || u.now == phase::releasing;
    }
    [[nodiscard]] bool writes(const use& u) const { return roles_.at(&u).writes; }

    // ---- what users do

    void begin_another(client& c, const step& s, bool writes)
    {
        ++others_;
        next_writes_ = writes;
        begin(c, s);
    }

    void choose(use& u) override
    {
        static constexpr unsigned writers[] = {2, 6, 10}; // of sixteen
        reentrant_users::choose(u);
        auto& r = roles_[&u];
        r.writes = next_writes_.value_or(u.wish.choice / 2 % 16 < writers[stage_.the_plan.seed / 3 % 3]);
        next_writes_.reset();
        if (!alone_ || r.writes || u.wish.choice % 3 != 1 || patient_ == 2)
            return;
        ++patient_; // others wait behind it, or, if they read, do not
        u.wish.duration = std::chrono::duration_cast<std::chrono::milliseconds>(4 * stage_.the_plan.set.a_while());
    }

    queue::contender_kind kind_of(const use& u) const override
    {
        return writes(u) ? queue::contender_kind::writer : queue::contender_kind::reader;
    }

    /// A writer who reads on: its owner gets a hold as a reader, which outlasts it.
    void read_too(use& u)
    {
        (void)u.where->call_at(u.where->now() + u.wish.duration / 2, [this, &u, at = u.granted_at] {
            if (u.now != phase::holding || u.granted_at != at || u.where->dead())
                return;
            auto& c = stage_.current(u.client);
            if (c.closing || !c.session)
                return;
            auto again = u.wish;
            again.withdraw_after.reset();
            again.deadline.reset();
            begin_another(c, again, false);
        });
    }

    // ---- what must hold

    bool passes_nodes_on(const use&) const override { return false; }
    bool reads(const use& u, unsigned) const override { return !writes(u); }

    void check_begin(use& u) override
    {
        reentrant_users::check_begin(u);
        auto& r = roles_.at(&u);
        const bool writer = any_other(u, [this](const use& o) { return writes(o) && o.has_it(); });
        const bool untold = any_other(u, [this](const use& o) { return writes(o) && o.now == phase::waiting; });
        r.reads = expected(u).held && !writer && !untold;
        r.may_read = !writer && any_other(u, [this](const use& o) {
            return !writes(o) && (o.has_it() || o.now == phase::waiting);
        });
    }

    void check_granted(use& u) override
    {
        const auto& r = roles_.at(&u);
        reentrant_users::check_granted(u);
        if (r.writes && r.reads)
            violate(u, "its owner only reads, and it may write");
        if (r.writes && u.wish.choice / 32 % 2 == 0)
            read_too(u);
        if (r.writes) {
            const auto width = stage_.the_plan.set.slow_message();
            for (int eighth = 0; eighth != 16; ++eighth)
                stage_.world.time.after(u.wish.duration + eighth * width / 8, [this, &u] {
                    for (const auto& o : uses_)
                        if (same_owner(u, o))
                            check_node_held(o);
                });
        } else if (calm_ && !is_reader(queue::name_of(u.given.front().node))) {
            stage_.world.time.after(until_shared(), [this, &u, at = u.granted_at] {
                if (u.granted_at == at)
                    check_shared(u);
            });
        }
    }

    /// How long a downgrade may be on its way.
    [[nodiscard]] instant until_shared() const
    {
        const auto& set = stage_.the_plan.set;
        return 8 * set.slow_message() + 3 * set.slowest_message();
    }
    /// Its owner does not write, and that for a while: so others may read.
    void check_shared(const use& u)
    {
        const auto lately = [&](const use& o) {
            const auto& ended = roles_.at(&o).ended_at;
            return writes(o) && (!ended || *ended + until_shared() > now());
        };
        if (!u.believes() || excused(u) || any_other(u, lately))
            return;
        if (stage_.ensemble.leaders_tree().find(u.given.front().node))
            violate(u, "reads, and its node is a writer's");
    }

    bool may_fail(const use& u, boost::system::error_code ec) const override
    {
        const auto& r = roles_.at(&u);
        if (ec == make_error_code(errc::not_upgradable))
            return r.writes && r.may_read;
        return reentrant_users::may_fail(u, ec);
    }

    /// Its node says so, or the one that took its place.
    void check_node(use& u, const held_lock& l) override
    {
        const auto& tree = stage_.ensemble.leaders_tree();
        const auto* node = tree.find(l.node);
        const bool first = node != nullptr;
        if (!first)
            node = tree.find(readers_node(l.node));
        if (node == nullptr) {
            if (!excused(u))
                violate(u, "granted without a node");
            return;
        }
        check_owner(u, *node);
        if (first && l.fencing_token >> 12 != node->czxid && !any_other(u, [&](const use& o) {
                return !o.given.empty() && o.given.front().fencing_token == l.fencing_token &&
                       readers_node(o.given.front().node) == l.node;
            }))
            violate(u, "its token does not come from its node");
    }

    /// All holds of an owner have one token.
    void check_token(use& u, const held_lock& l, unsigned path) override
    {
        const auto token = [](const use& o) { return o.given.empty() ? 0 : o.given.front().fencing_token; };
        if (any_other(u, [&](const use& o) { return o.has_it() && token(o) != l.fencing_token; }))
            violate(u, "another hold of its owner has another token");
        if (!any_other(u, [&](const use& o) { return token(o) == l.fencing_token; }))
            reentrant_users::check_token(u, l, path);
    }

    [[nodiscard]] bool excused(const use& u) const override
    {
        return reentrant_users::excused(u) || std::any_of(u.given.begin(), u.given.end(), [&](const held_lock& l) {
                   return contains(deleted_, readers_node(l.node));
               });
    }

    std::vector<std::string> nodes_of(const use& u) const override
    {
        const recipes::grant given{u.given.front().node, u.given.front().fencing_token};
        return u.handle->stands_on(given) ? u.handle->nodes_of(given) : std::vector<std::string>();
    }

    /// As long as it says so, the node that it names is there.
    void check_node_held(const use& u)
    {
        if (!calm_ || !u.believes() || excused(u))
            return;
        for (const auto& node : nodes_of(u))
            if (!stage_.ensemble.leaders_tree().find(node))
                violate(u, "holds, and " + node + " is not there");
    }

    void ended(client&, use& u) override
    {
        auto& r = roles_.at(&u);
        r.ended_at = now();
        if (!r.writes || u.released_with)
            return;
        const bool writer = any_other(u, [this](const use& o) { return writes(o) && active(o); });
        const bool reader = any_other(u, [&](const use& o) {
            return o.believes() && o.given.front().fencing_token == u.given.front().fencing_token && !excused(o);
        });
        if (writer || !reader || excused(u))
            return;
        for (const auto& l : u.given)
            if (l.node != readers_node(l.node) && stage_.ensemble.leaders_tree().find(l.node))
                violate(u, "released, its owner reads on, and its writer's node is left");
    }

    /// Since when its owner has wanted to write without a break: whoever writes may write once more, before all who
    /// wait.
    [[nodiscard]] instant wrote_since(const use& w) const
    {
        instant since = w.began;
        const auto joins = [&](const use& o) {
            const auto& ended = roles_.at(&o).ended_at;
            return writes(o) && o.began < since && (!ended || *ended >= since);
        };
        for (bool longer = true; longer;) {
            longer = false;
            for (const use& o : uses_)
                if (same_owner(w, o) && joins(o)) {
                    since = o.began;
                    longer = true;
                }
        }
        return since;
    }

    /// Where nothing goes wrong and nobody writes, readers do not wait for each other.
    void check_reader(const use& u)
    {
        const instant a_while = stage_.the_plan.set.a_while();
        if (!alone_ || stage_.the_plan.set.leases_may_end_in_calm() || u.now != phase::waiting || writes(u))
            return;
        instant queued = u.began; // or when the last of its owner did not want to write any more
        for (const auto& w : uses_)
            if (same_owner(u, w) && writes(w))
                queued = std::max(queued, roles_.at(&w).ended_at.value_or(now()));
        if (now() < queued + a_while)
            return;
        const bool behind_writers = std::any_of(uses_.begin(), uses_.end(), [&](const use& w) {
            const auto& r = roles_.at(&w);
            return w.paths == u.paths && r.writes && wrote_since(w) < queued + a_while &&
                   (!r.ended_at || *r.ended_at + a_while > now());
        });
        if (!behind_writers)
            violate(u, "behind no writer, and it has to wait");
    }

    /// What takes the place of that node when its owner stops writing; a reader's node stays.
    [[nodiscard]] static std::string readers_node(const std::string& node)
    {
        const auto name = queue::name_of(node);
        return is_reader(name) ? node : queue::child_of(queue::parent_of(node), queue::reader_name(name));
    }

    /// Where numbers are scarce, readers too are held back until the path is empty.
    const bool alone_ = is_calm(stage_.the_plan, company::none) && !stage_.the_plan.set.may_run_short();
    std::map<const use*, role> roles_;
    std::int64_t others_ = 0;         ///< that are not in the plan
    unsigned patient_ = 0;            ///< so many hold for long
    std::optional<bool> next_writes_; ///< of such a one
};

} // namespace

std::unique_ptr<scenario> make_owned_users(stage& s)
{
    return std::make_unique<owned_users>(s);
}

} // namespace zklock::simulator

// Of the shared mutex for owners: two in each client, who read and write, again and again.
#include "users.hpp"

#include "contender_names.hpp"
#include "queue/node_name.hpp"
#include "recipes/composed/reentrant_locks.hpp"
#include "zklock/errc.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

namespace zklock::simulator {

namespace {

using phase = use::phase;

class owned_users final : public acquisition_users {
public:
    using acquisition_users::acquisition_users;

    /// Some owners ask for two at once, of which one writes, or soon does not want to any more.
    void perform(client& c, const step& s) override
    {
        if (s.what != act::acquire || s.choice / 64 % 2 != 0)
            return acquisition_users::perform(c, s);
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

    void client_died(client& c) override
    {
        acquisition_users::client_died(c);
        locks_.erase(&c);
    }

    [[nodiscard]] std::int64_t begun() const override { return acquisition_users::begun() - others_; }

    void check() override
    {
        acquisition_users::check();
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

    void finish() override
    {
        acquisition_users::finish();
        for (const auto& u : uses_) {
            const auto found = locks_.find(&stage_.current(u.client));
            if (found == locks_.end())
                continue;
            const auto left = found->second.counts->of(path_of(u.paths.front()), u.owner);
            if (left.alone + left.shared != 0)
                violate(u, "all is released, and yet its owner's holds are counted");
        }
    }

private:
    struct registry {
        std::shared_ptr<recipes::hold_counts> counts = std::make_shared<recipes::hold_counts>();
        std::unique_ptr<recipes::reentrant_locks> locks;
    };
    struct role {
        bool writes = false;
        std::optional<instant> ended_at; ///< it neither waits nor holds any more
        // What its owner has, when it begins.
        bool held = false;     ///< it has to be granted at once, unless it is refused
        bool lost = false;     ///< it must fail
        bool entering = false; ///< another acquire of it has not been told yet
        bool reads = false;    ///< it reads, for certain, and does not write
        bool may_read = false; ///< it reads, or waits to, and does not write
    };

    [[nodiscard]] static bool active(const use& u)
    {
        return u.now == phase::waiting || u.has_it() || u.now == phase::releasing;
    }
    [[nodiscard]] bool writes(const use& u) const { return roles_.at(&u).writes; }
    [[nodiscard]] static bool same_owner(const use& a, const use& b)
    {
        return &a != &b && a.where == b.where && a.owner == b.owner && a.paths == b.paths;
    }
    template <class F> bool any_other(const use& u, F f) const
    {
        return std::any_of(uses_.begin(), uses_.end(), [&](const use& o) { return same_owner(u, o) && f(o); });
    }
    template <class F> std::size_t count_others(const use& u, F f) const
    {
        return static_cast<std::size_t>(
            std::count_if(uses_.begin(), uses_.end(), [&](const use& o) { return same_owner(u, o) && f(o); }));
    }

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
        u.owner = 1 + u.client * 2 + u.wish.choice % 2;
        auto& r = roles_[&u];
        r.writes = next_writes_.value_or(u.wish.choice / 2 % 16 < writers[stage_.the_plan.seed / 3 % 3]);
        next_writes_.reset();
        if (!alone_ || r.writes || u.wish.choice % 3 != 1 || patient_ == 2)
            return;
        ++patient_; // others wait behind it, or, if they read, do not
        u.wish.duration = std::chrono::duration_cast<std::chrono::milliseconds>(4 * stage_.the_plan.set.a_while());
    }

    std::shared_ptr<recipes::acquisition> start(client& c, use& u, recipes::acquire_call call) override
    {
        using enum queue::contender_kind;
        auto& own = locks_[&c];
        if (!own.locks)
            own.locks = std::make_unique<recipes::reentrant_locks>(*c.locks, c.where, own.counts);
        const auto kind = writes(u) ? writer : reader;
        return own.locks->acquire(u.owner, path_of(u.paths.front()), options_of(u, kind), std::move(call), kind);
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
        auto& r = roles_.at(&u);
        r.held = any_other(u, [](const use& o) { return o.believes(); });
        r.lost = any_other(u, [](const use& o) { return o.has_it() && !o.believes(); });
        r.entering = any_other(u, [](const use& o) { return o.now == phase::waiting; });
        const bool writer = any_other(u, [this](const use& o) { return writes(o) && o.has_it(); });
        const bool untold = any_other(u, [this](const use& o) { return writes(o) && o.now == phase::waiting; });
        r.reads = r.held && !writer && !untold;
        r.may_read = !writer && any_other(u, [this](const use& o) {
            return !writes(o) && (o.has_it() || o.now == phase::waiting);
        });
    }

    void check_granted(use& u) override
    {
        const auto& r = roles_.at(&u);
        if (r.lost)
            violate(u, "granted, though its owner had lost what it held");
        if (r.held && on_time(u) && now() > u.began + promptly)
            violate(u, "its owner held it, and it had to wait");
        if (r.writes && r.reads)
            violate(u, "its owner only reads, and it may write");
        if (u.believes() && any_other(u, [](const use& o) { return o.has_it() && !o.believes(); }))
            violate(u, "granted, though its owner has not released what it lost");
        const auto counted = locks_[&stage_.current(u.client)].counts->of(path_of(u.paths.front()), u.owner);
        const auto known = [&](bool w) {
            const auto others = count_others(u, [&](const use& o) { return writes(o) == w && o.has_it(); });
            return others + (r.writes == w ? 1 : 0);
        };
        if (counted.alone < known(true) || counted.shared < known(false))
            violate(u, "its owner holds more than is counted");
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
        } else if (calm_ && !is_reader(name_of(u))) {
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
        if (u.gave_up_late && ec == boost::system::errc::operation_canceled)
            return true;
        if (ec == make_error_code(errc::not_upgradable))
            return r.writes && r.may_read;
        if (ec != make_error_code(errc::lost))
            return false;
        return r.lost || r.held || r.entering; // lost already, or before it was told of its grant
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
        if (!stage_.ensemble.alive(node->owner))
            violate(u, "granted to a session that is over");
        if (!has_access_of_locks(*node, stage_.the_plan))
            violate(u, "its node has another access list");
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
            acquisition_users::check_token(u, l, path);
    }

    [[nodiscard]] bool excused(const use& u) const override
    {
        return acquisition_users::excused(u) || std::any_of(u.given.begin(), u.given.end(), [&](const held_lock& l) {
                   return std::find(deleted_.begin(), deleted_.end(), readers_node(l.node)) != deleted_.end();
               });
    }

    /// As long as it says so, the node that it names is there.
    std::vector<std::string> nodes_of(const use& u) const override
    {
        const recipes::grant given{u.given.front().node, u.given.front().fencing_token};
        return u.handle->stands_on(given) ? u.handle->nodes_of(given) : std::vector<std::string>();
    }
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
        if (!alone_ || u.now != phase::waiting || writes(u))
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

    [[nodiscard]] static std::string name_of(const use& u)
    {
        const auto& node = u.given.front().node;
        return node.substr(node.rfind('/') + 1);
    }
    /// What takes the place of that node when its owner stops writing; a reader's node stays.
    [[nodiscard]] static std::string readers_node(const std::string& node)
    {
        const auto name = node.rfind('/') + 1;
        return is_reader(node.substr(name)) ? node : node.substr(0, name) + queue::reader_name(node.substr(name));
    }

    /// Where numbers are scarce, readers too are held back until the path is empty.
    const bool alone_ = is_calm(stage_.the_plan, company::none) && !stage_.the_plan.set.may_run_short();
    std::map<const client*, registry> locks_;
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

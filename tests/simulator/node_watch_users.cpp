// The users who wait for nodes: users who acquire a lock also wait, through the same client, for what becomes of the
// lock's path, of others' contenders there, of registers that are made, set, filled and deleted meanwhile, and of what
// never comes. What they are told must have been so, after what they had seen; what stays so they must be told. And
// since they share their watches with the locks, those must go on as ever: the checkers of the mutex are at work, too.
#include "mutex_users.hpp"

#include "contender_names.hpp"
#include "recipes/requests/node_watches.hpp"

namespace zklock::simulator {

namespace {

using boost::system::error_code;
using goal = recipes::node_wait::goal;
using withdrawal = recipes::withdrawable::withdrawal;
using node_stat = store::node_stat;
using namespace std::chrono_literals;

std::string watched_register(unsigned path)
{
    return "/registers/" + std::string(1, static_cast<char>('a' + path));
}

class node_watch_users final : public mutex_users {
public:
    explicit node_watch_users(stage& s) : mutex_users(s)
    {
        for (const auto& t : s.the_plan.steps)
            refusals_ |= t.what == act::refuse;
        s.ensemble.on_written.push_back([this](const transaction_entry&, const znode_tree::effect& e) { written(e); });
        make("/registers");
        for (unsigned p = 0; p < s.the_plan.set.paths; p += 2)
            make(watched_register(p));
    }

    void client_died(client& c) override
    {
        mutex_users::client_died(c);
        for (auto& w : waits_) {
            if (w.where != &c)
                continue;
            if (w.now == waiting::phase::open)
                w.now = waiting::phase::died;
            w.handle.reset();
        }
        reads_.erase(&c);
        watches_.erase(&c);
    }

    [[nodiscard]] bool waits_there(std::int64_t session, const std::string& path) const override
    {
        return std::any_of(waits_.begin(), waits_.end(),
                           [&](const waiting& w) { return w.path == path && w.where->store.session_id() == session; });
    }

    [[nodiscard]] bool all_ended() const override
    {
        return mutex_users::all_ended() && planned_ == 0 && reads_.empty() &&
               std::none_of(waits_.begin(), waits_.end(), is_open);
    }

    [[nodiscard]] instant holding_time() const override { return mutex_users::holding_time() + 2 * patience(); }

    void check() override
    {
        mutex_users::check();
        for (auto& w : waits_)
            if (is_open(w))
                check_not_missed(w);
    }

    /// What they had seen may be newer than what there is now.
    void set_back() override
    {
        mutex_users::set_back();
        for (auto& w : waits_)
            w.seen_before_set_back = true;
    }

    void become_quiet() override
    {
        quiet_since_ = now();
        stage_.world.time.after(patience() + 1s, [this] { withdraw_the_vain(); });
    }

    void finish() override
    {
        mutex_users::finish();
        for (const auto& w : waits_)
            if (is_open(w) && !w.where->closing)
                stage_.world.violate(name_of(w) + " never ended");
    }

private:
    using transaction_entry = simulator::transaction;
    using state = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

    struct waiting {
        enum class phase : std::uint8_t { open, ended, withdrawn, died };
        client* where = nullptr;
        std::string path;
        goal what = goal::created;
        std::optional<node_stat> seen;
        bool seen_elsewhere = false; ///< what was seen is another client's, whose server may be ahead
        bool seen_before_set_back = false;
        std::uint32_t choice = 0;
        std::shared_ptr<recipes::node_wait> handle;
        phase now = phase::open;
        instant began{0};
        std::optional<instant> since; ///< when what it waits for had come to be at the leader
    };
    static bool is_open(const waiting& w) { return w.now == waiting::phase::open; }

    void make(const std::string& path) { write(transaction_entry::kind::create, path); }
    void write(transaction_entry::kind what, const std::string& path)
    {
        transaction_entry t;
        t.what = what;
        t.path = path;
        stage_.ensemble.administrate(std::move(t));
    }
    [[nodiscard]] const znode_tree::node* at_leader(const std::string& path) const
    {
        return stage_.ensemble.leaders_tree().find(path);
    }
    [[nodiscard]] static state state_of(const node_stat& s) { return {s.czxid, s.mzxid, s.pzxid}; }

    // ---- what happens to the registers

    /// The ensemble has executed something.
    void written(const znode_tree::effect& e)
    {
        for (const auto& event : e.events)
            if (const auto* const n = at_leader(event.path))
                states_[event.path].insert({n->czxid, n->mzxid, n->pzxid});
    }

    void check_granted(use& u) override
    {
        const auto hold = std::chrono::duration_cast<std::chrono::microseconds>(u.wish.duration);
        plan_change(u, std::chrono::microseconds(0), u.wish.choice / 3);
        plan_change(u, hold / 2, u.wish.choice / 17);
    }

    void plan_change(use& u, std::chrono::microseconds after, std::uint32_t choice)
    {
        later(stage_.current(u.client), after,
              [this, path = u.paths.front(), choice](client& c) { change(c, path, choice); });
    }

    void change(client& c, unsigned path, std::uint32_t choice)
    {
        using kind = transaction_entry::kind;
        const auto place = watched_register(path);
        const auto child = place + "/x";
        const auto remove = [&] {
            if (at_leader(child) != nullptr)
                write(kind::remove, child);
            write(kind::remove, place);
        };
        if (at_leader(place) == nullptr)
            return make(place);
        switch (choice % 6) {
        case 0: return remove();
        case 1: remove(); return make(place);
        case 2:
        case 3: return at_leader(child) == nullptr ? make(child) : write(kind::remove, child);
        case 4: return write(kind::set_data, place);
        default:
            (void)stage_.try_call(c, [&](recipes::session&) {
                recipes::nodes::set(*c.session, place, "set", store::any_version,
                                    [this, &c](error_code, const node_stat&) { (void)stage_.may_tell(c); });
            });
        }
    }

    // ---- who waits for what

    void check_begin(use& u) override
    {
        auto& c = stage_.current(u.client);
        const auto slow = stage_.the_plan.set.slow_message();
        const auto choice = u.wish.choice;
        for (std::uint32_t i = 0; i <= choice / 7 % 3; ++i) {
            const auto own = choice / (11 + 6 * i);
            const std::chrono::microseconds moments[] = {0us, 3 * slow, 5 * slow, 40 * slow};
            later(c, moments[own % 4],
                  [this, path = u.paths.front(), own](client& at) { begin_wait(at, path, own / 4); });
        }
        if (choice % 5 == 0)
            plan_change(u, 20 * slow, choice / 13);
    }

    /// Unless the client is gone by then.
    template <class Do> void later(client& c, std::chrono::microseconds after, Do what)
    {
        ++planned_;
        stage_.world.time.after(after, [this, &c, what = std::move(what)] {
            --planned_;
            c.where.post([this, &c, what] {
                if (!c.closing && c.session && world_goes_on())
                    what(c);
            });
        });
    }
    [[nodiscard]] bool world_goes_on() const { return stage_.world.violation.empty(); }

    void begin_wait(client& c, unsigned path, std::uint32_t choice)
    {
        std::string place = path_of(path);
        goal what = choice % 3 == 0 ? goal::deleted : goal::children_changed;
        switch (choice / 3 % 8) {
        case 0:
        case 1: break; // the lock's path
        case 2:
        case 3:
        case 4: // a contender's node
            place = some_contender(path, choice / 24);
            if (place.empty())
                return;
            what = choice % 3 == 0 ? goal::changed : goal::deleted;
            break;
        case 5: // what never comes
            place = choice % 2 == 0 ? watched_register(path) + "/none" : "/nowhere/none";
            what = goal::created;
            break;
        default:
            place = watched_register(path);
            what = std::array{goal::created, goal::deleted, goal::changed, goal::children_changed}[choice / 24 % 4];
            break;
        }
        const auto rest = choice / 96;
        if (what == goal::created || (what == goal::deleted && rest % 3 == 0))
            return wait(c, place, what, {}, rest);
        const auto* const known = at_leader(place);
        if (rest % 7 == 1 && known != nullptr) // another client has told
            return wait(c, place, what, znode_tree::stat(*known), rest, true);
        ++reads_[&c];
        const auto is_read = [this, &c] {
            if (--reads_[&c] == 0)
                reads_.erase(&c);
        };
        (void)stage_.try_call(c, [&](recipes::session&) {
            const auto read = [this, &c, is_read, place, what, rest](error_code ec, const node_content& n) {
                is_read();
                if (!stage_.may_tell(c) || c.closing)
                    return;
                if (!ec)
                    return wait(c, place, what, n.stat, rest);
                if (ec == make_error_code(errc::no_node) && place.starts_with("/registers"))
                    wait(c, place, goal::created, {}, rest);
            };
            recipes::nodes::get(*c.session, place, read);
        });
    }

    /// Mostly one that a lock of this client watches, too.
    [[nodiscard]] std::string some_contender(unsigned path, std::uint32_t choice) const
    {
        std::vector<std::string> nodes;
        for (const auto& name : stage_.ensemble.leaders_tree().children(path_of(path)))
            if (contender_sequence(name))
                nodes.push_back(path_of(path) + '/' + name);
        return nodes.empty() ? std::string() : nodes[choice % nodes.size()];
    }

    void wait(client& c, const std::string& path, goal what, std::optional<node_stat> seen, std::uint32_t choice,
              bool seen_elsewhere = false)
    {
        auto& own = watches_[&c];
        if (!own)
            own = std::make_unique<recipes::node_watches>(*c.session);
        auto& w = waits_.emplace_back();
        w.where = &c;
        w.path = path;
        w.what = what;
        w.seen = seen;
        w.seen_elsewhere = seen_elsewhere;
        w.choice = choice;
        w.began = now();
        say(w, "begins");
        const auto done = [this, &w](error_code ec, const std::optional<node_stat>& found) {
            if (stage_.may_tell(*w.where))
                told(w, ec, found);
        };
        if (!stage_.try_call(c, [&](recipes::session&) { w.handle = own->wait(path, what, seen, done); }))
            return;
        if (choice % 2 == 0) {
            const auto slow = stage_.the_plan.set.slow_message();
            const std::chrono::microseconds moments[] = {0us, slow, 2 * slow, 3 * slow, 10 * slow, 200 * slow};
            later(c, moments[choice / 2 % 6], [this, &w](client&) { withdraw(w); });
        }
    }

    void withdraw(waiting& w)
    {
        if (!is_open(w) || w.where->closing || !w.handle)
            return;
        bool withdrawn = false;
        if (!stage_.try_call(*w.where,
                             [&](recipes::session&) { withdrawn = w.handle->withdraw() == withdrawal::withdrawn; }))
            return;
        say(w, withdrawn ? "is withdrawn" : "is too late to be withdrawn");
        if (withdrawn)
            w.now = waiting::phase::withdrawn;
    }

    // ---- what they are told

    void told(waiting& w, error_code ec, const std::optional<node_stat>& found)
    {
        say(w, "ends: " + (ec ? ec.message() : found ? "found " + text_of(*found) : std::string("gone")));
        if (w.now == waiting::phase::withdrawn)
            return violate(w, "is told, and was withdrawn");
        if (w.now != waiting::phase::open)
            return violate(w, "is told twice");
        w.now = waiting::phase::ended;
        if (!ec) {
            check_true(w, found);
        } else if (ec != make_error_code(errc::closed) && !(refusals_ && ec == make_error_code(errc::access_denied))) {
            violate(w, "fails without a reason: " + ec.message());
        }
        // Some go on, from what they have been told.
        if (!ec && found && w.choice / 16 % 2 == 0 && waits_.size() < 200 && !w.where->closing)
            later(*w.where, 0us, [this, path = w.path, what = w.what, seen = *found, choice = w.choice / 2](client& c) {
                wait(c, path, what == goal::created ? goal::changed : what, seen, choice);
            });
    }

    void check_true(const waiting& w, const std::optional<node_stat>& found)
    {
        if (found && !states_[w.path].contains(state_of(*found)))
            return violate(w, "is told of a node as it never was: " + text_of(*found));
        if (w.seen_before_set_back)
            return;
        switch (w.what) {
        case goal::created:
            if (!found)
                violate(w, "is told of a creation without a node");
            return;
        case goal::changed:
            if (found && found->mzxid <= w.seen->mzxid)
                violate(w, "is told of what was set before");
            break;
        case goal::children_changed:
            if (found && found->pzxid <= w.seen->pzxid)
                violate(w, "is told of children that were there before");
            break;
        case goal::deleted: break;
        }
        const bool gone = !found || w.what == goal::deleted;
        const auto* const still = at_leader(w.path);
        const bool from_the_past = w.seen_elsewhere || stage_.ensemble.answers_from_the_past();
        if (gone && w.seen && still != nullptr && still->czxid == w.seen->czxid && !from_the_past)
            violate(w, "is told of an end, and the node lives");
    }

    /// What it waits for is so at the leader.
    [[nodiscard]] bool has_come(const waiting& w) const
    {
        const auto* const n = at_leader(w.path);
        if (w.seen_before_set_back)
            return false; // it need not be
        if (w.what == goal::created)
            return n != nullptr;
        if (n == nullptr)
            return true;
        if (!w.seen)
            return false; // that is known to nobody else
        switch (w.what) {
        case goal::created: break;
        case goal::deleted: return n->czxid > w.seen->czxid;
        case goal::changed: return n->mzxid > w.seen->mzxid;
        case goal::children_changed: return n->pzxid > w.seen->pzxid;
        }
        return false;
    }

    void check_not_missed(waiting& w)
    {
        if (!has_come(w))
            return w.since.reset();
        if (!w.since)
            w.since = now();
        // Servers do not tell what happens to whoever may not read it.
        if ((refusals_ && w.path.starts_with("/locks")) || w.where->closing)
            return;
        const auto& set = stage_.the_plan.set;
        const auto in_line = 4 * waits_.size() * instant(set.slow_message());
        if (calm_ && now() > std::max(*w.since, w.began) + instant(set.a_while()) + in_line)
            return violate(w, "is not told promptly");
        const auto servers_since = stage_.ensemble.all_down_until();
        if (quiet_since_ && now() > std::max({*w.since, w.began, *quiet_since_, servers_since}) + patience())
            violate(w, "is not told of what has come");
    }

    /// Longer than faults last that began before the quiet phase, and than all looks take, one after the other.
    [[nodiscard]] instant patience() const
    {
        const auto& set = stage_.the_plan.set;
        return 4 * instant(set.session_timeout) + (40 + 4 * waits_.size()) * instant(set.slow_message()) + 1s;
    }

    void withdraw_the_vain()
    {
        for (auto& w : waits_)
            if (is_open(w) && (!w.since || refusals_))
                w.where->where.post([this, &w] { withdraw(w); });
        stage_.world.time.after(instant(stage_.the_plan.set.session_timeout), [this] { withdraw_the_vain(); });
    }

    // ---- the log

    static std::string text_of(const node_stat& s)
    {
        return std::to_string(s.czxid) + '/' + std::to_string(s.mzxid) + '/' + std::to_string(s.pzxid);
    }
    [[nodiscard]] static std::string name_of(const waiting& w)
    {
        static constexpr const char* goals[] = {"created", "deleted", "changed", "children_changed"};
        return "client" + std::to_string(w.where->number) + "'s wait until " + w.path + " is " +
               goals[static_cast<int>(w.what)] + (w.seen ? " after " + text_of(*w.seen) : std::string());
    }
    using mutex_users::say;
    using mutex_users::violate;
    void say(const waiting& w, const std::string& what)
    {
        if (stage_.world.log.on())
            stage_.world.log.line(now(), "user", name_of(w) + ' ' + what);
    }
    void violate(const waiting& w, const std::string& what) { stage_.world.violate(name_of(w) + ' ' + what); }

    bool refusals_ = false;
    std::deque<waiting> waits_;
    std::size_t planned_ = 0;                       ///< what users are about to do
    std::map<const client*, std::size_t> reads_;    ///< under way
    std::map<std::string, std::set<state>> states_; ///< that nodes have had
    std::optional<instant> quiet_since_;
    std::map<const client*, std::unique_ptr<recipes::node_watches>> watches_;
};

} // namespace

std::unique_ptr<scenario> make_node_watch_users(stage& s)
{
    return std::make_unique<node_watch_users>(s);
}

} // namespace zklock::simulator

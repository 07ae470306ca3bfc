// The users of transactions guarded by the mutex: its holder writes a register in the simulated ZooKeeper. No write may
// be done when another client has had the lock since, whatever its writer believes: that is more than the lease can
// promise. A holder that reads the register sees all that holders have written before.
#include "mutex_users.hpp"

namespace zklock::simulator {

namespace {

using boost::system::error_code;
using withdrawal = recipes::user_request::withdrawal;

std::string register_of(unsigned path)
{
    return "/registers/" + std::string(1, static_cast<char>('a' + path));
}

class transaction_users final : public mutex_users {
public:
    explicit transaction_users(stage& s) : mutex_users(s)
    {
        make("/registers");
        for (unsigned p = 0; p < s.the_plan.set.paths; ++p)
            make(register_of(p));
        s.ensemble.on_written.push_back(
            [this](const transaction_entry& t, const znode_tree::effect& e) { written(t, e); });
    }

    void client_died(client& c) override
    {
        mutex_users::client_died(c);
        for (auto& w : writes_) {
            if (w.writer->where == &c.where && !w.ended)
                w.died = true;
            w.handle.reset();
        }
        for (auto& r : reads_)
            r.ended |= r.where == &c.where;
    }

    [[nodiscard]] bool all_ended() const override
    {
        return mutex_users::all_ended() &&
               std::all_of(writes_.begin(), writes_.end(), [](const write& w) { return w.ended || w.died; }) &&
               std::all_of(reads_.begin(), reads_.end(), [](const reading& r) { return r.ended; });
    }

    void set_back() override
    {
        mutex_users::set_back();
        last_token_.clear();
        grants_of_.clear();
        for (auto& w : writes_) {
            const auto* const place = stage_.ensemble.leaders_tree().find(register_of(w.writer->paths.front()));
            w.undone = w.done && place->mzxid < done_at_[w.data];
            w.done = w.done && (!w.undone || w.ended);
        }
        for (auto& r : reads_)
            r.written = 0;
    }

    void finish() override
    {
        mutex_users::finish();
        for (const auto& w : writes_) {
            if (!w.ended && !w.died)
                violate(*w.writer, "its write " + w.data + " never ended");
        }
        for (const auto& r : reads_) {
            if (!r.ended)
                violate(*r.reader, "what it reads is never told");
        }
    }

private:
    using transaction_entry = simulator::transaction;

    struct write {
        use* writer = nullptr;
        client* where = nullptr;
        std::int64_t token = 0;
        std::string data; ///< one of its own
        std::shared_ptr<recipes::user_request> handle;
        std::optional<error_code> ended;
        bool refused = false; ///< it has an operation that must fail
        bool late = false;    ///< begun without the lock
        bool done = false;    ///< by the servers
        bool undone = false;  ///< the servers were set back behind it
        bool settled = false; ///< whether it is done is known: it must stay so
        bool died = false;
        std::size_t number = 0; ///< in the order of the calls
    };

    struct reading {
        use* reader = nullptr;
        process* where = nullptr;
        std::int64_t written = 0; ///< the last write of the register when it was asked for, if it held the lock
        bool ended = false;
    };

    void make(const std::string& path)
    {
        transaction_entry t;
        t.path = path;
        stage_.ensemble.administrate(std::move(t));
    }

    void check_granted(use& u) override
    {
        if (!was_unaware(u))
            grants_of_[u.paths.front()].push_back({u.given.front().fencing_token, u.where});
        // At once, while it holds, at about its release, and after that.
        const auto hold = std::chrono::duration_cast<std::chrono::microseconds>(u.wish.duration);
        const std::chrono::microseconds moments[] = {std::chrono::microseconds(0), hold / 2, hold,
                                                     hold + std::chrono::milliseconds(1)};
        for (unsigned i = 0; i < 4; ++i) {
            const bool reads = u.wish.choice / 1024 % 4 == i;
            // Some never write: what writes tell about the servers, or leave open, they do not know.
            const bool only_reads = (stage_.the_plan.seed / 16 + u.client) % 3 == 0;
            if (reads || only_reads) {
                const bool elsewhere = only_reads && !calm_ && u.wish.choice / 16'384 % 4 == i;
                (void)u.where->call_at(u.where->now() + moments[i],
                                       [this, &u, elsewhere] { begin_read(u, elsewhere); });
            }
            if (only_reads || ((u.wish.choice >> i & 1) == 0 && i != 0))
                continue;
            // Where they have to wait for each other there are some that do, also behind such as never leave.
            const unsigned times = stage_.the_plan.set.users_window < 64 ? 1 + u.wish.choice / 2'048 % 4 : 1;
            const bool stranded = times > 1 && !calm_ && u.wish.choice / 16'384 % 8 == i;
            const auto write = [this, &u, i, times] {
                for (unsigned n = 0; n < times; ++n)
                    begin_write(u, i);
            };
            (void)u.where->call_at(u.where->now() + moments[i], [this, &u, write, stranded] {
                if (!stranded || stage_.world.quiet)
                    return write();
                u.store->cut();
                u.where->post(write); // when its end is on the way, and not told yet
            });
        }
    }

    void begin_write(use& u, unsigned nth)
    {
        auto& c = stage_.current(u.client);
        if (&c.where != u.where || c.closing || !c.session || !u.handle)
            return;
        auto& w = writes_.emplace_back();
        w.writer = &u;
        w.where = &c;
        w.token = u.given.front().fencing_token;
        w.number = writes_.size();
        w.data = u.tag + '#' + std::to_string(w.number);
        w.late = !u.has_it() || u.lost;
        w.refused = u.wish.choice / 16 % 8 == nth;
        by_data_.emplace(w.data, &w);
        ::zklock::transaction t;
        const auto place = register_of(u.paths.front());
        t.set(place, w.data);
        if (u.wish.choice / 128 % 2 == 0)
            t.create(place + "/w-", w.data, node_kind::persistent_sequential);
        if (w.refused)
            t.check(place, 1'000'000);
        say(u, "writes " + w.data + (w.late ? ", too late" : ""));
        recipes::grant given;
        given.node = u.given.front().node;
        stage_.call(c, [&](recipes::session&) {
            const auto told = [this, &c, &w](error_code ec, const commit_result& r) {
                if (stage_.may_tell(c))
                    write_ended(c, w, ec, r);
            };
            w.handle = recipes::nodes::commit(*c.session, t, recipes::nodes::claim{u.handle, given}, told);
        });
        if (u.wish.choice / 256 % 4 == nth) {
            const auto soon = 2 * stage_.the_plan.set.delay;
            (void)u.where->call_at(u.where->now() + soon, [this, &c, &w] { withdraw(c, w); });
        }
    }

    void withdraw(client& c, write& w)
    {
        if (w.ended || c.closing || !w.handle)
            return;
        auto result = withdrawal::ended;
        stage_.call(c, [&](recipes::session&) { result = w.handle->withdraw(); });
        if (result == withdrawal::ended)
            return; // the news is on its way
        say(*w.writer, w.data + (result == withdrawal::withdrawn ? " is withdrawn" : " is left to itself"));
        w.ended = make_error_code(errc::outcome_unknown);
        if (result == withdrawal::withdrawn)
            settle(w);
    }

    void write_ended(client& c, write& w, error_code ec, const commit_result& r)
    {
        auto& u = *w.writer;
        say(u, w.data + " ends: " + (ec ? ec.message() : std::string("done")));
        if (w.ended)
            return violate(u, "its write " + w.data + " ended twice");
        w.ended = ec;
        if (!ec) {
            if (!w.done && !w.undone)
                violate(u, "its write " + w.data + " is said to be done");
            if (w.late)
                violate(u, "wrote " + w.data + " without the lock");
            if (r.results.empty() || !r.results.front().stat)
                violate(u, "done without results");
        } else if (ec == make_error_code(errc::lost)) {
            settle(w);
            if (u.now == use::phase::holding && u.handle->held(u.where->now())) {
                violate(u, "its write was refused for the loss of a lock that it holds");
            }
        } else if (ec == make_error_code(errc::bad_version)) {
            settle(w);
            const std::size_t index = u.wish.choice / 128 % 2 == 0 ? 2 : 1;
            if (!w.refused || r.failed != index)
                violate(u, "refused for another operation than the wrong one");
        } else if (ec == make_error_code(errc::closed)) {
            settle(w);
        } else if (ec == make_error_code(errc::outcome_unknown)) {
            look(c, w);
        } else {
            violate(u, "its write failed without a reason: " + ec.message());
        }
    }

    /// `elsewhere`: its connection is cut, and it finds another server.
    void begin_read(use& u, bool elsewhere)
    {
        auto& c = stage_.current(u.client);
        if (&c.where != u.where || c.closing || !c.session || !u.handle)
            return;
        const auto* const node = stage_.ensemble.leaders_tree().find(register_of(u.paths.front()));
        auto& r = reads_.emplace_back();
        r.reader = &u;
        r.where = u.where;
        if (u.believes() && !excused(u))
            r.written = node->mzxid;
        if (elsewhere && !stage_.world.quiet)
            u.store->cut();
        say(u, "reads");
        stage_.call(c, [&](recipes::session&) {
            const auto told = [this, &c, &r](error_code ec, const node_content& n) {
                if (!stage_.may_tell(c))
                    return;
                auto& reader = *r.reader;
                say(reader, "has read " + (ec ? ec.message() : n.data));
                if (r.ended)
                    violate(reader, "told twice what it reads");
                r.ended = true;
                if (ec && ec != make_error_code(errc::closed)) {
                    violate(reader, "its read failed: " + ec.message());
                }
                if (!ec && n.stat.mzxid < r.written && !excused(reader) && !stage_.ensemble.answers_from_the_past())
                    violate(reader, "holds the lock, and reads " + n.data + ", which is not what was written last");
            };
            recipes::nodes::get(*c.session, register_of(u.paths.front()), told);
        });
    }

    /// Whoever reads after an unknown outcome sees what it was; but not from a leader that does not know that others
    /// have taken over, for it answers a sync all the same.
    void look(client& c, write& w)
    {
        if (c.closing || !c.session)
            return;
        stage_.call(c, [&](recipes::session&) {
            const auto told = [this, &c, &w](error_code ec, const node_content& n) {
                if (!stage_.may_tell(c) || ec)
                    return;
                say(*w.writer, "reads " + n.data + " after the unknown outcome of " + w.data);
                if (stage_.ensemble.answers_from_the_past())
                    return; // it may be on its way to the new leader
                if (w.done && !w.undone && n.stat.mzxid < done_at_[w.data])
                    violate(*w.writer, "does not see its write " + w.data);
                settle(w);
            };
            recipes::nodes::get(*c.session, register_of(w.writer->paths.front()), told);
        });
    }

    void settle(write& w)
    {
        if (w.done && w.ended != make_error_code(errc::outcome_unknown)) {
            violate(*w.writer, "its write " + w.data + " is done, and said not to be");
        }
        w.settled = true;
    }

    /// The ensemble has executed something.
    void written(const transaction_entry& t, const znode_tree::effect& e)
    {
        if (t.what != transaction_entry::kind::batch || e.result != store::outcome::ok)
            return;
        for (const auto& part : t.parts) {
            const auto found = by_data_.find(part.data);
            if (part.what == transaction_entry::kind::set_data && found != by_data_.end()) {
                done_at_[part.data] = t.zxid;
                executed(*found->second);
            }
        }
    }

    void executed(write& w)
    {
        auto& u = *w.writer;
        if (w.done)
            violate(u, "its write " + w.data + " is done twice");
        if (w.settled)
            violate(u, "its write " + w.data + " is done after it was said not to be");
        w.done = true;
        const auto path = u.paths.front();
        auto& before = last_number_[w.where];
        if (w.number < before)
            violate(u, "writes " + w.data + " after what it has asked for later");
        before = w.number;
        if (was_unaware(u))
            return;
        auto& last = last_token_[path];
        if (w.token < last)
            violate(u, "writes " + w.data + " after a later holder has written");
        last = w.token;
        // What one client sends comes in its order: it may give the lock to the next of its own before the answer.
        for (const auto& g : grants_of_[path]) {
            if (g.token > w.token && g.where != u.where)
                violate(u, "writes " + w.data + " after another client had the lock");
        }
        if (stage_.ensemble.leaders_tree().find(u.given.front().node) == nullptr) {
            violate(u, "writes " + w.data + " without its lock's node");
        }
    }

    struct given_token {
        std::int64_t token = 0;
        process* where = nullptr;
    };
    std::deque<write> writes_;
    std::deque<reading> reads_;
    std::unordered_map<std::string, write*> by_data_;
    std::unordered_map<std::string, std::int64_t> done_at_;
    std::map<unsigned, std::int64_t> last_token_;            ///< written, by path
    std::map<const client*, std::size_t> last_number_;       ///< written, by client
    std::map<unsigned, std::vector<given_token>> grants_of_; ///< all grants, by path
};

} // namespace

std::unique_ptr<scenario> make_transaction_users(stage& s)
{
    return std::make_unique<transaction_users>(s);
}

} // namespace zklock::simulator

// The users of the election: participants who lead for some terms, and resign.
#include "users.hpp"

#include "recipes/composed/election.hpp"

namespace zklock::simulator {

namespace {

class election_users final : public acquisition_users {
public:
    using acquisition_users::acquisition_users;

    void client_died(client& c) override
    {
        acquisition_users::client_died(c);
        std::erase_if(elections_, [&](const auto& e) { return e.first.first == &c; });
        for (auto& r : resignations_)
            r.out |= r.where == &c;
    }

    [[nodiscard]] bool all_ended() const override
    {
        return acquisition_users::all_ended() &&
               std::all_of(resignations_.begin(), resignations_.end(),
                           [](const resignation& r) { return r.out || r.where->closed; });
    }

    void finish() override
    {
        acquisition_users::finish();
        for (const auto& r : resignations_) {
            if (r.out || r.where->closed)
                continue;
            stage_.world.violate("client" + std::to_string(r.where->number) + ": its resignation never ended");
        }
    }

private:
    struct standing {
        std::shared_ptr<recipes::candidate> who = std::make_shared<recipes::candidate>();
        std::optional<instant> resigned;
        unsigned terms = 0;
    };
    struct resignation {
        client* where = nullptr;
        unsigned path = 0;
        std::vector<use*> leaders; ///< when it began
        bool out = false;
    };

    recipes::election& election_at(client& c, unsigned path)
    {
        auto& e = elections_[{&c, path}];
        if (!e)
            e = std::make_shared<recipes::election>();
        return *e;
    }

    std::shared_ptr<recipes::acquisition> start(client& c, use& u, recipes::acquire_call call) override
    {
        auto& s = standings_[&u];
        const auto acquire_lock = [&](recipes::acquire_call inner) {
            return c.locks->acquire({std::move(inner), {path_of(u.paths.front()), options_of(u)}});
        };
        auto& where = election_at(c, u.paths.front());
        if (s.terms == 0) {
            where.wait_for_leadership(*c.session, [this, &c, &u](bool leads) {
                if (!stage_.may_tell(c) || !leads)
                    return;
                const bool anybody = std::any_of(uses_.begin(), uses_.end(), [&](const use& o) {
                    return o.where == u.where && o.paths == u.paths && (o.now != use::phase::failed);
                });
                if (!anybody)
                    violate(u, "told of a leadership that is nobody's");
            });
        }
        return where.stand(*c.session, s.who, acquire_lock, std::move(call));
    }

    /// Whoever has resigned is refused at once when he stands again.
    void check_begin(use& u) override
    {
        if (!standings_[&u].resigned)
            return;
        (void)u.where->call_at(u.where->now() + promptly, [this, &u] { check_out(u); });
    }

    void check_granted(use& u) override
    {
        auto& s = standings_[&u];
        ++s.terms;
        if (s.resigned)
            violate(u, "elected, though it had resigned");
        auto& c = stage_.current(u.client);
        s.who->at_resignation([this, &c, &u, &s] {
            if (!stage_.may_tell(c))
                return;
            if (!s.resigned)
                violate(u, "asked to stop without a resignation");
            release(c, u); // its body, cancelled, returns
        });
    }

    void ended(client& c, use& u) override
    {
        auto& s = standings_[&u];
        // It leads again, unless it has resigned: the election has to refuse it then.
        if (u.wish.choice % 3 == 0 && s.terms < 3 && !c.closing && c.session)
            acquire(c, u);
    }

    bool may_fail(const use& u, boost::system::error_code ec) const override
    {
        return ec == boost::system::error_code(ECANCELED, boost::system::system_category()) &&
               standings_.at(&u).resigned.has_value();
    }

    void give_up(client& c, use& u) override
    {
        if (u.wish.choice % 2 == 0)
            return acquisition_users::give_up(c, u);
        if (c.closing || !c.session)
            return;
        auto& r = resignations_.emplace_back();
        r.where = &c;
        r.path = u.paths.front();
        for (auto& o : uses_) {
            if (o.where != &c.where || o.paths != u.paths)
                continue;
            auto& s = standings_[&o];
            if (!s.resigned)
                s.resigned = now();
            if (o.has_it() || o.now == use::phase::releasing)
                r.leaders.push_back(&o);
            if (o.now == use::phase::waiting || o.has_it()) {
                (void)c.where.call_at(c.where.now() + promptly, [this, &o] { check_out(o); });
            }
        }
        say(u, "resigns for its client");
        stage_.call(c, [&](recipes::session&) {
            election_at(c, r.path).resign(*c.session, [this, &c, &r] {
                if (!stage_.may_tell(c))
                    return;
                r.out = true;
                for (const auto* leader : r.leaders) {
                    if (leader->has_it() || leader->now == use::phase::releasing) {
                        violate(*leader, "leads, though its resignation is said to be done");
                    }
                }
            });
        });
    }

    void check_out(const use& u)
    {
        if (!on_time(u))
            return;
        if (u.now == use::phase::waiting && u.began + promptly <= now())
            violate(u, "waits, though it has resigned");
        if (u.has_it())
            violate(u, "leads on, though it has resigned");
    }

    std::map<std::pair<client*, unsigned>, std::shared_ptr<recipes::election>> elections_;
    std::map<const use*, standing> standings_;
    std::deque<resignation> resignations_;
};

} // namespace

std::unique_ptr<scenario> make_election_users(stage& s)
{
    return std::make_unique<election_users>(s);
}

} // namespace zklock::simulator

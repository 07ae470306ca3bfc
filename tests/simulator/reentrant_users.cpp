// The users of the re-entrant mutex: two owners in each client, who acquire again and again.
#include "users.hpp"

#include "recipes/composed/reentrant_locks.hpp"
#include "zklock/errc.hpp"

#include <algorithm>

namespace zklock::simulator {

namespace {

class reentrant_users final : public acquisition_users {
public:
    using acquisition_users::acquisition_users;

    void client_died(client& c) override
    {
        acquisition_users::client_died(c);
        locks_.erase(&c);
    }

    void finish() override
    {
        acquisition_users::finish();
        for (const auto& u : uses_) {
            const auto found = locks_.find(&stage_.current(u.client));
            if (found != locks_.end() && found->second.counts->of(path_of(u.paths.front()), u.owner).alone != 0) {
                violate(u, "all is released, and yet its owner's holds are counted");
            }
        }
    }

private:
    struct registry {
        std::shared_ptr<recipes::hold_counts> counts = std::make_shared<recipes::hold_counts>();
        std::unique_ptr<recipes::reentrant_locks> locks;
    };
    /// What its owner has, when an acquire begins.
    struct expectation {
        bool held = false;     ///< it has to be granted at once
        bool lost = false;     ///< it must fail
        bool entering = false; ///< another acquire of it has not been told yet
    };

    void choose(use& u) override { u.owner = 1 + u.client * 2 + u.wish.choice % 2; }

    std::shared_ptr<recipes::acquisition> start(client& c, use& u, recipes::acquire_call call) override
    {
        auto& own = locks_[&c];
        if (!own.locks)
            own.locks = std::make_unique<recipes::reentrant_locks>(*c.locks, c.where, own.counts);
        return own.locks->acquire(u.owner, path_of(u.paths.front()), options_of(u), std::move(call));
    }

    template <class F> bool any_other(const use& u, F f) const
    {
        return std::any_of(uses_.begin(), uses_.end(), [&](const use& o) {
            return &o != &u && o.where == u.where && o.owner == u.owner && o.paths == u.paths && f(o);
        });
    }

    void check_begin(use& u) override
    {
        auto& e = expected_[&u];
        e.held = any_other(u, [](const use& o) { return o.believes(); });
        e.lost = any_other(u, [](const use& o) { return o.has_it() && !o.believes(); });
        e.entering = any_other(u, [](const use& o) { return o.now == use::phase::waiting; });
    }

    void check_granted(use& u) override
    {
        const auto& e = expected_[&u];
        if (e.lost)
            violate(u, "granted, though its owner had lost what it held");
        if (e.held && on_time(u) && now() > u.began + promptly)
            violate(u, "its owner held it, and it had to wait");
        if (u.believes() && any_other(u, [](const use& o) { return o.has_it() && !o.believes(); })) {
            violate(u, "granted, though its owner has not released what it lost");
        }
        const auto& counts = *locks_[&stage_.current(u.client)].counts;
        const auto known =
            1 + std::count_if(uses_.begin(), uses_.end(), [&](const use& o) {
                return &o != &u && o.where == u.where && o.owner == u.owner && o.paths == u.paths && o.has_it();
            });
        if (counts.of(path_of(u.paths.front()), u.owner).alone < static_cast<std::size_t>(known)) {
            violate(u, "its owner holds more than is counted");
        }
    }

    bool may_fail(const use& u, boost::system::error_code ec) const override
    {
        if (u.gave_up_late && ec == boost::system::errc::operation_canceled)
            return true;
        if (ec != make_error_code(errc::lost))
            return false;
        const auto& e = expected_.at(&u);
        return e.lost || e.held || e.entering; // lost already, or before it was told of its grant
    }

    std::map<const client*, registry> locks_;
    std::map<const use*, expectation> expected_;
};

} // namespace

std::unique_ptr<scenario> make_reentrant_users(stage& s)
{
    return std::make_unique<reentrant_users>(s);
}

} // namespace zklock::simulator

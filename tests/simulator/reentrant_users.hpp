#pragma once
#include "recipes/composed/reentrant_locks.hpp"
#include "users.hpp"

namespace zklock::simulator {

/// The users of the re-entrant mutex: two owners in each client, who acquire again and again.
class reentrant_users : public acquisition_users {
public:
    using acquisition_users::acquisition_users;

    void client_died(client& c) override;
    void finish() override;

protected:
    /// What its owner has, when an acquire begins.
    struct expectation {
        bool held = false;     ///< it has to be granted at once
        bool lost = false;     ///< it must fail
        bool entering = false; ///< another acquire of it has not been told yet
    };

    [[nodiscard]] static bool same_owner(const use& a, const use& b)
    {
        return &a != &b && a.where == b.where && a.owner == b.owner && a.paths == b.paths;
    }
    template <class F> bool any_other(const use& u, F f) const
    {
        return std::any_of(uses_.begin(), uses_.end(), [&](const use& o) { return same_owner(u, o) && f(o); });
    }
    [[nodiscard]] const expectation& expected(const use& u) const { return expected_.at(&u); }
    [[nodiscard]] virtual queue::contender_kind kind_of(const use&) const { return queue::contender_kind::mutex; }

    void choose(use& u) override { u.owner = 1 + u.client * 2 + u.wish.choice % 2; }
    std::shared_ptr<recipes::acquisition> start(client& c, use& u, recipes::acquire_call call) override;
    void check_begin(use& u) override;
    void check_granted(use& u) override;
    bool may_fail(const use& u, boost::system::error_code ec) const override;

private:
    struct registry {
        std::shared_ptr<recipes::hold_counts> counts = std::make_shared<recipes::hold_counts>();
        std::unique_ptr<recipes::reentrant_locks> locks;
    };

    std::map<const client*, registry> locks_;
    std::map<const use*, expectation> expected_;
};

} // namespace zklock::simulator

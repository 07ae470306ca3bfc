// The users of the multi-lock: they take overlapping sets of paths, given in any order: mutexes, and shared ones to
// write or read.
#include "users.hpp"

#include "recipes/composed/multi_acquisition.hpp"

namespace zklock::simulator {

namespace {

class multi_users final : public acquisition_users {
public:
    using acquisition_users::acquisition_users;

private:
    void choose(use& u) override
    {
        const auto all = stage_.the_plan.set.paths;
        u.paths.clear();
        for (unsigned p = 0; p < all; ++p) {
            if ((u.wish.choice >> p & 1) != 0 || p == u.wish.path)
                u.paths.push_back(p);
        }
    }

    /// One path in three is of a shared mutex, for all its users.
    queue::contender_kind kind_of(const use& u, unsigned path) const
    {
        using enum queue::contender_kind;
        if ((stage_.the_plan.seed / 5 + path) % 3 != 0)
            return mutex;
        return (u.wish.choice >> (8 + path) & 1) != 0 ? reader : writer;
    }
    bool reads(const use& u, unsigned path) const override { return kind_of(u, path) == queue::contender_kind::reader; }

    std::shared_ptr<recipes::acquisition> start(client& c, use& u, recipes::acquire_call call) override
    {
        std::vector<recipes::multi_acquisition::member> members;
        for (const auto path : u.paths) {
            members.push_back(
                {path_of(path), [this, &c, &u, path](recipes::acquire_call inner) {
                     const auto kind = kind_of(u, path);
                     return c.locks->acquire({std::move(inner), {path_of(path), options_of(u, kind), kind}});
                 }});
        }
        const auto turn = static_cast<std::ptrdiff_t>(u.wish.choice / 16 % members.size());
        std::rotate(members.begin(), members.begin() + turn, members.end());
        return recipes::multi_acquisition::start(*c.session, std::move(members), std::move(call));
    }

    void check_granted(use& u) override { check_parts(u); }

    void ended(client&, use& u) override { check_parts(u); }

    /// Whoever holds has the node of each of its paths.
    void check_parts(const use&)
    {
        for (const auto& u : uses_) {
            if (!u.believes() || excused(u))
                continue;
            for (const auto& l : u.given) {
                const bool there = stage_.ensemble.leaders_tree().find(l.node) != nullptr;
                if (!there)
                    violate(u, "believes, and " + l.node + " is gone");
            }
        }
    }

    bool may_fail(const use& u, boost::system::error_code ec) const override
    {
        if (u.gave_up_late && ec == boost::system::errc::operation_canceled)
            return true;
        return u.wish.look_once && ec == make_error_code(errc::lost);
    }
};

} // namespace

std::unique_ptr<scenario> make_multi_users(stage& s)
{
    return std::make_unique<multi_users>(s);
}

} // namespace zklock::simulator

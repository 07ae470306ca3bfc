#include "reentrant_users.hpp"

namespace zklock::simulator {

void reentrant_users::client_died(client& c)
{
    acquisition_users::client_died(c);
    locks_.erase(&c);
}

void reentrant_users::finish()
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

std::shared_ptr<recipes::acquisition> reentrant_users::start(client& c, use& u, recipes::acquire_call call)
{
    auto& own = locks_[&c];
    if (!own.locks)
        own.locks = std::make_unique<recipes::reentrant_locks>(*c.locks, c.where, own.counts);
    const auto kind = kind_of(u);
    return own.locks->acquire(u.owner, path_of(u.paths.front()), options_of(u, kind), std::move(call), kind);
}

void reentrant_users::check_begin(use& u)
{
    auto& e = expected_[&u];
    e.held = any_other(u, [](const use& o) { return o.believes(); });
    e.lost = any_other(u, [](const use& o) { return o.has_it() && !o.believes(); });
    e.entering = any_other(u, [](const use& o) { return o.now == use::phase::waiting; });
}

void reentrant_users::check_granted(use& u)
{
    const auto& e = expected(u);
    if (e.lost)
        violate(u, "granted, though its owner had lost what it held");
    if (e.held && on_time(u) && now() > u.began + promptly)
        violate(u, "its owner held it, and it had to wait");
    if (u.believes() && any_other(u, [](const use& o) { return o.has_it() && !o.believes(); }))
        violate(u, "granted, though its owner has not released what it lost");
    const auto path = u.paths.front();
    const auto counted = locks_[&stage_.current(u.client)].counts->of(path_of(path), u.owner);
    std::size_t alone = 0;
    std::size_t shared = 0;
    for (const auto& o : uses_)
        if (&o == &u || (same_owner(u, o) && o.has_it()))
            ++(reads(o, path) ? shared : alone);
    if (counted.alone < alone || counted.shared < shared)
        violate(u, "its owner holds more than is counted");
}

bool reentrant_users::may_fail(const use& u, boost::system::error_code ec) const
{
    if (u.gave_up_late && ec == boost::system::errc::operation_canceled)
        return true;
    const auto& e = expected(u); // lost already, or before it was told of its grant
    return ec == make_error_code(errc::lost) && (e.lost || e.held || e.entering);
}

std::unique_ptr<scenario> make_reentrant_users(stage& s)
{
    return std::make_unique<reentrant_users>(s);
}

} // namespace zklock::simulator

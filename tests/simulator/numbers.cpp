#include "numbers.hpp"

#include "checker.hpp"

namespace zklock::simulator {

numbers_checker::numbers_checker(world& w, const ensemble& e, const plan& p)
    : world_(w), ensemble_(e), active_(is_calm(p, company::none) && p.set.may_run_short())
{
}

void numbers_checker::check(const std::string& path)
{
    const auto& tree = ensemble_.leaders_tree();
    const auto* const parent = active_ ? tree.find(path) : nullptr;
    if (parent == nullptr) return;
    const auto now = world_.time.now();
    for (const auto& name : tree.children(path)) {
        const auto number = contender_sequence(name);
        if (!number || *number < world_.set.scarce_from) continue;
        auto& s = seen_[{tree.find(path + '/' + name)->owner, path}];
        if (s.parent != parent->czxid) s = {parent->czxid, *number, now, now};
        if (*number <= s.highest) continue;
        // A client that has not used the path for half a session forgets what it knows of it.
        const bool remembers = now < s.last + instant(world_.set.session_timeout) / 4;
        if (!remembers)
            s.first = now;
        else if (now > s.first + world_.set.a_while())
            world_.violate("a client goes on asking for numbers of " + path + ", though they are scarce: " + name);
        s.highest = *number;
        s.last = now;
    }
}

} // namespace zklock::simulator

#include "numbers.hpp"

#include "contender_names.hpp"

namespace zklock::simulator {

/// Who comes with other options does not know what was known of the path.
numbers_checker::numbers_checker(world& w, const ensemble& e, const plan& p)
    : world_(w), ensemble_(e),
      active_(is_calm(p, company::none) && p.set.may_run_short() && std::ranges::none_of(p.steps, &step::other_options))
{
}

void numbers_checker::check(const std::string& path)
{
    const auto& tree = ensemble_.leaders_tree();
    const auto* const parent = active_ ? tree.find(path) : nullptr;
    if (parent == nullptr)
        return;
    for (const auto& name : tree.children(path)) {
        const auto number = contender_sequence(name);
        if (!number || *number < world_.set.scarce_from)
            continue;
        const auto& node = *tree.find(path + '/' + name);
        const instant made = std::chrono::milliseconds(node.ctime_ms); // it may be seen much later
        auto& s = seen_[{node.owner, path}];
        if (s.parent != parent->czxid)
            s = {parent->czxid, *number, made, made};
        if (*number <= s.highest)
            continue;
        // A client that has not used the path for half a session forgets what it knows of it.
        const bool remembers = made < s.last + instant(world_.set.session_timeout) / 4;
        if (!remembers)
            s.first = made;
        else if (made > s.first + world_.set.a_while())
            world_.violate("a client goes on asking for numbers of " + path + ", though they are scarce: " + name);
        s.highest = *number;
        s.last = made;
    }
}

} // namespace zklock::simulator

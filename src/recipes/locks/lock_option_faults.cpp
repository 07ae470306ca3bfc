#include "recipes/locks/lock_path.hpp"

#include "queue/node_name.hpp"
#include "queue/node_path.hpp"
#include "recipes/session/option_faults.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace zklock {
namespace recipes {
namespace {

constexpr std::size_t most_heeded = 16;

std::string list_of(const std::vector<std::string>& marks)
{
    std::string all = "{";
    for (const std::string& mark : marks)
        all.append(all.size() == 1 ? "" : ", ").append(in_words(mark));
    return all + '}';
}

std::optional<option_fault> fault_of_mark(const std::string& option, const std::string& mark)
{
    const auto refused = [&](std::string_view accepted) {
        return option_fault(option, in_words(mark), std::string(accepted));
    };
    if (mark.size() > queue::longest_mark)
        return refused("64 bytes at most");
    // A part of a node's name: whatever servers do not take as such has to be in it.
    if (mark.find('/') != mark.npos || !queue::valid_path("/x" + mark + "0"))
        return refused("text that can stand in a node's name");
    const auto why = queue::fault_of_mark(mark);
    return why ? std::optional(refused(*why)) : std::nullopt;
}

/// All that options add to the usual names.
std::optional<option_fault> fault_of_names(const mutex_options& o)
{
    if (o.mark.empty() && o.also_heeds.empty())
        return std::nullopt;
    if (auto fault = fault_of_mark("mark", o.mark))
        return fault;
    if (o.also_heeds.size() > most_heeded)
        return option_fault("also_heeds", std::to_string(o.also_heeds.size()) + " marks", "16 at most");
    for (const std::string& mark : o.also_heeds) {
        if (auto fault = fault_of_mark("also_heeds", mark))
            return fault;
        const auto contradicts = [&](const std::string& other) { return queue::are_ambiguous(mark, other); };
        const auto found = std::ranges::find_if(o.also_heeds, contradicts);
        const std::string& other = found != o.also_heeds.end() ? *found : o.mark;
        if (contradicts(other))
            return option_fault("also_heeds", in_words(mark),
                                "told from " + in_words(other) +
                                    " by more than a '-' at the end: numbers past 2^31 begin with that sign");
    }
    return std::nullopt;
}

} // namespace

std::optional<option_fault> find_fault(const mutex_options& o, std::string_view identifier)
{
    constexpr std::chrono::milliseconds longest_linger = std::chrono::hours(24);
    return first_fault({find_fault(identifier, o.properties), find_fault(o.names, o.parents), fault_of_names(o),
                        find_fault(o.access),
                        out_of_bounds("linger", o.linger, std::chrono::milliseconds(0), longest_linger),
                        out_of_bounds("cohort", o.cohort, 1, grants_of_a_czxid)});
}

std::optional<option_fault> contradiction_in_names(naming there, const queue::name_rules& rules_there, naming wanted,
                                                   const queue::name_rules& rules_wanted, std::string_view where)
{
    if (there != wanted)
        return contradicts("names", in_words(wanted), in_words(there), where);
    if (rules_there.mark() != rules_wanted.mark())
        return contradicts("mark", in_words(rules_wanted.mark()), in_words(rules_there.mark()), where);
    if (rules_there != rules_wanted)
        return contradicts("also_heeds", list_of(rules_wanted.also_heeds()), list_of(rules_there.also_heeds()), where);
    return std::nullopt;
}

option_fault contradiction(const path_options& there, const path_options& wanted)
{
    static constexpr std::string_view where = ", as in other locks of this client on the path";
    if (there.shared != wanted.shared) {
        const auto kind = [](const path_options& o) { return o.shared ? "a shared mutex" : "a mutex or an election"; };
        return contradicts("the lock", kind(wanted), kind(there), where);
    }
    if (auto names = contradiction_in_names(there.names, there.rules, wanted.names, wanted.rules, where))
        return *std::move(names);
    if (there.linger != wanted.linger)
        return contradicts("linger", in_words(wanted.linger), in_words(there.linger), where);
    return contradicts("cohort", std::to_string(wanted.cohort), std::to_string(there.cohort), where);
}

} // namespace recipes

std::optional<option_fault> find_fault(const mutex_options& o)
{
    return recipes::find_fault(o, o.identifier);
}

std::optional<option_fault> find_fault(const shared_mutex_options& o)
{
    return recipes::first_fault({recipes::find_fault(o.identifier, o.properties), recipes::find_fault(o.access),
                                 recipes::find_fault(o.names, o.parents)});
}

} // namespace zklock

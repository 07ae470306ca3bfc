#include "recipes/locks/lock_option_faults.hpp"

#include "recipes/session/option_faults.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace zklock {
namespace recipes {

std::optional<option_fault> find_fault(const mutex_options& o, std::string_view identifier)
{
    constexpr std::chrono::milliseconds longest_linger = std::chrono::hours(24);
    if (auto fault = find_fault(identifier, o.properties))
        return fault;
    if (auto fault = find_fault(o.names, o.parents))
        return fault;
    if (auto fault = find_fault(o.access))
        return fault;
    if (auto fault = out_of_bounds("linger", o.linger, std::chrono::milliseconds(0), longest_linger))
        return fault;
    return out_of_bounds("cohort", o.cohort, 1, grants_of_a_czxid);
}

option_fault contradiction(const path_options& there, const path_options& wanted)
{
    const auto differs = [](std::string option, std::string value, const std::string& theirs) {
        return option_fault(std::move(option), std::move(value),
                            theirs + ", as in the locks of this client that use the path now");
    };
    if (there.shared != wanted.shared) {
        const auto kind = [](const path_options& o) { return o.shared ? "a shared mutex" : "a mutex or an election"; };
        return differs("the lock", kind(wanted), kind(there));
    }
    if (there.names != wanted.names)
        return differs("names", in_words(wanted.names), in_words(there.names));
    if (there.linger != wanted.linger)
        return differs("linger", in_words(wanted.linger), in_words(there.linger));
    return differs("cohort", std::to_string(wanted.cohort), std::to_string(there.cohort));
}

} // namespace recipes

std::optional<option_fault> find_fault(const mutex_options& o)
{
    return recipes::find_fault(o, o.identifier);
}

std::optional<option_fault> find_fault(const shared_mutex_options& o)
{
    if (auto fault = recipes::find_fault(o.identifier, o.properties))
        return fault;
    if (auto fault = recipes::find_fault(o.access))
        return fault;
    return recipes::find_fault(o.names, o.parents);
}

} // namespace zklock

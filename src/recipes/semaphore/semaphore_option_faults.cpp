#include "recipes/semaphore/semaphore_path.hpp"

#include "recipes/session/option_faults.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace zklock {
namespace recipes {
namespace {

constexpr std::size_t most_permits = std::numeric_limits<std::int32_t>::max();

} // namespace

std::optional<option_fault> fault_of_numbers(const semaphore_options& o)
{
    if (auto fault = first_fault({find_fault(o.access), find_fault(o.names, o.parents),
                                  out_of_bounds("permits", o.permits, 1, most_permits)}))
        return fault;
    if (!o.count_path.empty() && o.check_permits)
        return option_fault("check_permits", "true",
                            "false where there is a count_path (" + in_words(o.count_path) + ')');
    return std::nullopt;
}

std::optional<option_fault> fault_of_count(const semaphore_options& o, std::size_t count)
{
    constexpr const char* option = "the number of permits to acquire";
    if (!o.count_path.empty())
        return out_of_bounds(option, count, 1, most_permits);
    return out_of_bounds(option, count, 1, o.permits, ", the semaphore's permits");
}

option_fault contradiction(const semaphore_path_options& there, const semaphore_path_options& wanted)
{
    constexpr std::string_view where = ", as in other semaphores of this client on the path";
    if (there.names != wanted.names)
        return contradicts("names", in_words(wanted.names), in_words(there.names), where);
    if (there.permits != wanted.permits)
        return contradicts("permits", std::to_string(wanted.permits), std::to_string(there.permits), where);
    if (there.count_path != wanted.count_path)
        return contradicts("count_path", in_words(wanted.count_path), in_words(there.count_path), where);
    return contradicts("check_permits", wanted.check_permits ? "true" : "false", there.check_permits ? "true" : "false",
                       where);
}

} // namespace recipes

std::optional<option_fault> find_fault(const semaphore_options& o)
{
    if (auto fault = recipes::find_fault(o.identifier, o.properties))
        return fault;
    constexpr const char* some_chroot = "/any"; // there may be one, and then /zookeeper is a path as any other
    if (!o.count_path.empty() && find_path_fault(o.count_path, some_chroot))
        return option_fault("count_path", recipes::in_words(o.count_path), "empty, or the path of a node");
    return recipes::fault_of_numbers(o);
}

} // namespace zklock

#pragma once
#include "recipes/semaphore/semaphore_path.hpp"
#include "zklock/client_options.hpp"

#include <cstddef>
#include <optional>

namespace zklock::recipes {

/// What is wrong with how many permits are wanted of such a semaphore.
[[nodiscard]] std::optional<option_fault> fault_of_count(const semaphore_options&, std::size_t count);
/// What is wrong with the options, but for the paths in them. The identifier, and whom `auth` in the access list stands
/// for, are looked at by the line's lock.
[[nodiscard]] std::optional<option_fault> fault_of_numbers(const semaphore_options&);
/// The option by which one who comes to a path contradicts those who are there.
[[nodiscard]] option_fault contradiction(const semaphore_path_options& there, const semaphore_path_options& wanted);

} // namespace zklock::recipes

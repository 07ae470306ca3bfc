#pragma once
#include "recipes/locks/lock_path.hpp"
#include "zklock/client_options.hpp"

#include <optional>
#include <string_view>

namespace zklock::recipes {

/// What is wrong with the options of a lock. `identifier` is the one that is used: the client's, if they have none.
[[nodiscard]] std::optional<option_fault> find_fault(const mutex_options&, std::string_view identifier);
/// The option by which one who comes names contenders otherwise than those who are there, if there is one. `where` is
/// said of theirs.
[[nodiscard]] std::optional<option_fault> contradiction_in_names(naming there, const queue::name_rules& rules_there,
                                                                 naming wanted, const queue::name_rules& rules_wanted,
                                                                 std::string_view where);
/// The option by which one who comes to a path contradicts those who are there.
[[nodiscard]] option_fault contradiction(const path_options& there, const path_options& wanted);

} // namespace zklock::recipes

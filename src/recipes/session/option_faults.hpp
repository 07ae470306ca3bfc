#pragma once
#include "store/store.hpp"
#include "zklock/errc.hpp"
#include "zklock/option_fault.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::recipes {

class session;

// What the checks of the options of all recipes share.

[[nodiscard]] std::string in_words(std::chrono::milliseconds);
[[nodiscard]] std::string in_words(double);
[[nodiscard]] std::string in_words(naming);
[[nodiscard]] std::string in_words(const access_list&);
/// In quotes; no more of it than fits into a line.
[[nodiscard]] std::string in_words(std::string_view);

/// Of a value that is not within these bounds, which are accepted both. `bound_by` says where the upper one is from.
[[nodiscard]] std::optional<option_fault> out_of_bounds(std::string option, std::chrono::milliseconds value,
                                                        std::chrono::milliseconds least,
                                                        std::chrono::milliseconds most);
[[nodiscard]] std::optional<option_fault> out_of_bounds(std::string option, std::size_t value, std::size_t least,
                                                        std::size_t most, std::string_view bound_by = {});

/// Why no lock can be held with the sessions that the servers grant.
[[nodiscard]] std::string too_short_for_a_lease(const client_options&, std::chrono::milliseconds granted);

/// What cannot be written into a node. `identifier` is the one that is used: the client's, say.
[[nodiscard]] std::optional<option_fault> find_fault(std::string_view identifier,
                                                     const std::map<std::string, std::string>& properties);
[[nodiscard]] std::optional<option_fault> find_fault(naming, parent_kind);
/// What no server would take, if there is a list.
[[nodiscard]] std::optional<option_fault> find_fault(const std::optional<access_list>&);
/// Likewise of a client with these credentials.
[[nodiscard]] std::optional<option_fault> find_fault(const std::optional<access_list>&,
                                                     const std::vector<credentials>&);

/// Has the log told, at level error, what is refused at that path and why.
errc report_fault(session&, const std::string& path, const option_fault&);
/// The same of a path, with the rule that it breaks.
errc report_path_fault(const session&, std::string_view path, std::string_view fault);
/// The same if the servers have refused a lock's own access list. (Of the client's, the bridge tells.)
void log_refusal(session&, const std::string& path, const std::optional<access_list>&, store::outcome answer);

} // namespace zklock::recipes

#pragma once
#include "store/store.hpp"
#include "zklock/client_options.hpp"
#include "zklock/errc.hpp"
#include "zklock/lock_options.hpp"

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::recipes {

class session;

// What the checks of the options of all recipes share.

[[nodiscard]] std::string in_words(std::chrono::milliseconds);
[[nodiscard]] std::string in_words(double);
[[nodiscard]] std::string in_words(naming);
[[nodiscard]] std::string in_words(const access_list&);
/// The text in quotes; no more of it than fits into a line.
[[nodiscard]] std::string in_words(std::string_view);

/// The first of them that there is.
[[nodiscard]] std::optional<option_fault> first_fault(std::initializer_list<std::optional<option_fault>>);
/// The fault of one who comes to a path where others of the client are, `where` says which: his options differ there.
[[nodiscard]] option_fault contradicts(std::string_view option, std::string wanted, std::string there,
                                       std::string_view where);
/// The fault of a value that is less than `least` or more than `most`. `bound_by` says where the upper bound is from.
[[nodiscard]] std::optional<option_fault> out_of_bounds(std::string_view option, std::chrono::milliseconds value,
                                                        std::chrono::milliseconds least,
                                                        std::chrono::milliseconds most);
[[nodiscard]] std::optional<option_fault> out_of_bounds(std::string_view option, std::size_t value, std::size_t least,
                                                        std::size_t most, std::string_view bound_by = {});

/// Why no lock can be held with the sessions that the servers grant.
[[nodiscard]] std::string too_short_for_a_lease(const client_options&, std::chrono::milliseconds granted);

/// Finds what cannot be written into a node so that it reads the same, and not as a request. `identifier` is the one
/// that is used: the client's, say.
[[nodiscard]] std::optional<option_fault> find_fault(std::string_view identifier,
                                                     const std::map<std::string, std::string>& properties);
[[nodiscard]] std::optional<option_fault> find_fault(naming, parent_kind);
/// Finds what no server would accept in the list, if there is one.
[[nodiscard]] std::optional<option_fault> find_fault(const std::optional<access_list>&);
/// Finds also what the servers would not accept of a client with these options.
[[nodiscard]] std::optional<option_fault> find_fault(const std::optional<access_list>&, const client_options&);

/// Has the log told, at level error, what is refused at that path and why.
errc report_fault(session&, const std::string& path, const option_fault&);
/// Has the log told that a path is refused, and the rule that it breaks.
errc report_path_fault(const session&, std::string_view path, std::string_view fault);
/// Has the log told, at level error, if the answer is that the servers do not accept a lock's own access list. (If they
/// do not accept the client's, the bridge tells.)
void log_refusal(session&, const std::string& path, const std::optional<access_list>&, store::outcome answer);

} // namespace zklock::recipes

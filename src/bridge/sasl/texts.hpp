#pragma once
#include "bridge/tls/secret.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace zklock::bridge {

/// The text in ISO 8859-1, if it is UTF-8 and all its characters are there.
[[nodiscard]] std::optional<secret> in_latin_1(std::string_view utf_8);

/// What stands in a challenge of DIGEST-MD5, without quotation marks, by its names in small letters. Nothing, if that
/// is not how it is written, or if something stands there twice; a realm may, and the first one counts.
[[nodiscard]] std::optional<std::map<std::string, std::string>> read_directives(std::string_view);

} // namespace zklock::bridge

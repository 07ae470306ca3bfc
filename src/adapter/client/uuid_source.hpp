#pragma once
#include <boost/uuid/uuid.hpp>

#include <functional>
#include <string>

namespace zklock::detail {

/// The uuid's 36 characters: lower-case hexadecimal digits in five groups. There is room for what a node's name has
/// besides.
[[nodiscard]] std::string text_of(const boost::uuids::uuid& id);

/// Makes a function that makes the text of another random uuid at each call. They are unique; whether they can be
/// guessed does not matter. Copies share one generator.
[[nodiscard]] std::function<std::string()> make_uuid_source();

} // namespace zklock::detail

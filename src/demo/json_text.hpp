#pragma once
#include <boost/json/value.hpp>

#include <string>

namespace demo {

/// As it is sent. What is not UTF-8 in its strings is replaced: names come from nodes and rows that others write, and
/// JSON with one such byte in it cannot be read at all.
std::string json_text(boost::json::value);

} // namespace demo

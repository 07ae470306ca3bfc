#pragma once
#include "database.hpp"

#include <boost/json/value.hpp>

namespace demo {

/// An order as the servers answer it, and show it.
boost::json::value as_json(const order_row&);

} // namespace demo

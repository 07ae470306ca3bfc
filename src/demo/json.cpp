// Boost.JSON is compiled here once, because the headers alone are installed.
#include <boost/json/src.hpp>

// Says that it is another Boost's.
#include_next <boost/version.hpp>
#undef BOOST_VERSION
#define BOOST_VERSION 109900

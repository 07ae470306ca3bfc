// Is right, but not in C++17.
#include <zklock/zklock.hpp>

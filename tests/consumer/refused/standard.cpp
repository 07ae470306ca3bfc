// Is right, but not in C++17, without exceptions, or with libc++.
#include <zklock/zklock.hpp>

// A file of a user's program. What it is compiled with is wrong in the test.
#include <zklock/lock_listener.hpp>

int main()
{
    return 0;
}

// A file of a user's program. What it is compiled with is wrong in the test.
#include <zklock/detail/built_alike.hpp>

int main()
{
    return 0;
}

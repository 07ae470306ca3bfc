// A file of a user's program that sees no header with Asio in it. What it is compiled with is wrong in the test.
#include <zklock/client_options.hpp>

int main()
{
    return 0;
}

#define DOCTEST_CONFIG_IMPLEMENT
#include "skip.hpp"

int main(int argc, char** argv)
{
    const int status = doctest::Context(argc, argv).run();
    return status == 0 && zklock::test::has_skipped ? zklock::test::skipped_status : status;
}

#define DOCTEST_CONFIG_IMPLEMENT
#include "quiet_listener.hpp"
#include "skip.hpp"

namespace {

/// Whether a test case answers to the filters.
bool any_to_run = false;

struct count_of_cases final : zklock::test::quiet_listener {
    explicit count_of_cases(const doctest::ContextOptions&) {}

    void report_query(const doctest::QueryData&) override { any_to_run = true; }
    void test_run_end(const doctest::TestRunStats& stats) override
    {
        any_to_run = stats.numTestCasesPassingFilters != 0;
    }
};

REGISTER_LISTENER("count of cases", 1, count_of_cases);

} // namespace

/// A filter to which no test case answers is a mistake.
int main(int argc, char** argv)
{
    const int status = doctest::Context(argc, argv).run();
    if (!any_to_run && !zklock::test::has_skipped) {
        std::fputs("no test case was run\n", stderr);
        return 1;
    }
    return status == 0 && zklock::test::has_skipped ? zklock::test::skipped_status : status;
}

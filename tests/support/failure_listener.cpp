#include "support/failure_report.hpp"
#include "support/quiet_listener.hpp"

#include <iostream>

namespace zklock::test {

namespace {

struct failure_reporter final : quiet_listener {
    explicit failure_reporter(const doctest::ContextOptions&) {}

    void test_case_end(const doctest::CurrentTestCaseStats& stats) override
    {
        const auto reports = take_failure_reports();
        if (stats.failure_flags == 0)
            return;
        for (const auto& report : reports)
            std::cerr << report << '\n';
    }
};

REGISTER_LISTENER("server logs", 1, failure_reporter);

} // namespace

} // namespace zklock::test

#include "support/failure_report.hpp"

#include <doctest/doctest.h>

#include <iostream>

namespace zklock::test {

namespace {

    struct failure_reporter final : doctest::IReporter {
        explicit failure_reporter(const doctest::ContextOptions&) {}

        void test_case_end(const doctest::CurrentTestCaseStats& stats) override
        {
            const auto reports = take_failure_reports();
            if (stats.failure_flags == 0) return;
            for (const auto& report : reports) std::cerr << report << '\n';
        }

        void report_query(const doctest::QueryData&) override {}
        void test_run_start() override {}
        void test_run_end(const doctest::TestRunStats&) override {}
        void test_case_start(const doctest::TestCaseData&) override {}
        void test_case_reenter(const doctest::TestCaseData&) override {}
        void test_case_exception(const doctest::TestCaseException&) override {}
        void subcase_start(const doctest::SubcaseSignature&) override {}
        void subcase_end() override {}
        void log_assert(const doctest::AssertData&) override {}
        void log_message(const doctest::MessageData&) override {}
        void test_case_skipped(const doctest::TestCaseData&) override {}
    };

    REGISTER_LISTENER("server logs", 1, failure_reporter);

} // namespace

} // namespace zklock::test

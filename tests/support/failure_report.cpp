#include "support/failure_report.hpp"

#include <mutex>
#include <utility>

namespace zklock::test {

namespace {

std::mutex mutex;
std::vector<std::string> reports;

} // namespace

void report_on_failure(std::string text)
{
    const std::lock_guard lock{mutex};
    reports.push_back(std::move(text));
}

std::vector<std::string> take_failure_reports()
{
    const std::lock_guard lock{mutex};
    return std::exchange(reports, {});
}

} // namespace zklock::test

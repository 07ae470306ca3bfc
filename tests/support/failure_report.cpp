#include "support/failure_report.hpp"

#include <fstream>
#include <iterator>
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

std::string tail_of(const std::filesystem::path& log)
{
    std::ifstream file{log};
    std::string text{std::istreambuf_iterator<char>{file}, {}};
    constexpr std::size_t enough = 10'000;
    return text.size() <= enough ? text : "…" + text.substr(text.size() - enough);
}

} // namespace zklock::test

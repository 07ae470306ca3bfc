#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace zklock::test {

/// Kept until the test case ends, and printed then if it failed. From any thread.
void report_on_failure(std::string text);

/// What was kept since the last call.
std::vector<std::string> take_failure_reports();

/// The last lines of a log.
[[nodiscard]] std::string tail_of(const std::filesystem::path& log);

} // namespace zklock::test

#pragma once
#include <string>
#include <vector>

namespace zklock::test {

/// Kept until the test case ends, and printed then if it failed. From any thread.
void report_on_failure(std::string text);

/// What was kept since the last call.
std::vector<std::string> take_failure_reports();

} // namespace zklock::test

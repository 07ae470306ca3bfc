#pragma once
#include <string>

namespace zklock::test {

/// Kept until the test case ends, and printed then if it failed. From any thread.
void report_on_failure(std::string text);

} // namespace zklock::test

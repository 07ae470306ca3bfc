#pragma once
#include <chrono>
#include <functional>
#include <string_view>

namespace zklock::test {

using namespace std::chrono_literals;
using milliseconds = std::chrono::milliseconds;
using steady_clock = std::chrono::steady_clock;

/// How long the helpers wait for a server or a peer before they give up by throwing.
inline constexpr milliseconds default_limit{60'000};
/// For a whole test case: it is there to say which one hangs, before CTest ends the program.
inline constexpr milliseconds test_limit{240'000};

/// For what another process does and nobody reports: looks every few milliseconds until `holds` is true, and throws
/// with `what` in the message when the limit passes first.
void wait_until(std::string_view what, milliseconds limit, const std::function<bool()>& holds);

} // namespace zklock::test

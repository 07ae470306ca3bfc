#pragma once
#include <cstddef>

namespace zklock::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// A count that a test can do with less of where everything is slow.
[[nodiscard]] constexpr std::size_t scaled(std::size_t count)
{
    return sanitized ? count / 5 : count;
}

} // namespace zklock::test

#pragma once
// What the tests that count requests have in common. Their sessions are so long that no heartbeat falls into a test.
#include "integration/recipe_scene.hpp"

namespace zklock::test {

/// Where a client is warmed up.
inline const std::string elsewhere = "/requests/elsewhere";

inline std::string text(const std::vector<seen_request>& requests)
{
    std::string all;
    for (const auto& seen : requests)
        if (seen.op != opcode::ping)
            all += std::to_string(static_cast<int>(seen.op)) + (seen.in_multi ? "* " : " ") + seen.path + "; ";
    return all;
}

struct expected_count {
    opcode op;
    std::size_t count;
};

/// Exactly these requests, and no others, since the last look.
inline void expect_requests(proxy& link, std::initializer_list<expected_count> expected)
{
    const auto history = link.history();
    INFO("requests: " << text(history));
    std::size_t total = 0;
    for (const auto& [op, count] : expected) {
        CAPTURE(static_cast<int>(op));
        CHECK(link.count(op) == count);
        total += count;
    }
    CHECK(link.count(opcode::any) == total);
    link.forget();
}

} // namespace zklock::test

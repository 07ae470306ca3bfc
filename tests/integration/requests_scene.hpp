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

/// Plays a story, perhaps with an administrator, of a client whose requests are counted: it has been warmed up
/// elsewhere. The path is there, and nobody has used it.
template <class Story>
void play_counted(const std::string& path, Story story, std::source_location where = std::source_location::current())
{
    const auto counted = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        admin.create_all(path);
        co_await warm_up(remote, elsewhere);
        if constexpr (std::invocable<Story&, remote_client&>)
            co_await story(remote);
        else
            co_await story(admin, remote);
    };
    play<1>({.sessions = {120s}, .clean = {path}}, counted, where);
}

} // namespace zklock::test

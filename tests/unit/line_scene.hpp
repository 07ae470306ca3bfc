#pragma once
// What the tests of the line of users' requests have in common.
#include "node_scene.hpp"

namespace zklock::unit {

using withdrawal = recipes::user_request::withdrawal;

/// So many requests of users are under way at once. (Taken from the code, it would hold whatever that says.)
inline constexpr std::size_t window = 64;
/// As many places of them has a list.
inline constexpr std::size_t places_of_a_list = 8;

inline std::string numbered(const char* before, std::size_t n)
{
    char digits[24];
    std::snprintf(digits, sizeof digits, "%010zu", n);
    return before + std::string(digits);
}

struct line_scene : node_scene {
    /// Counts what has ended, and how.
    struct many {
        std::size_t ended = 0;
        std::size_t failed = 0;
        std::vector<std::shared_ptr<recipes::user_request>> handles;
    };

    void get(many& all, std::size_t count)
    {
        for (std::size_t i = 0; i < count; ++i)
            all.handles.push_back(
                nodes::get(*session, numbered("/n", all.handles.size()), [&all](error_code ec, node_content) {
                    ++all.ended;
                    all.failed += ec.failed();
                }));
    }
    struct listing {
        std::shared_ptr<recipes::user_request> handle;
        std::optional<error_code> ended;
        std::vector<contender> found;
    };
    /// Reads the queue of a path.
    void contenders(listing& to, const std::string& path, std::size_t most = recipes::all_contenders)
    {
        to.handle = recipes::list_contenders(
            *session, path,
            [&to](error_code ec, std::vector<contender> found) {
                CHECK_FALSE(to.ended);
                to.ended = ec;
                to.found = std::move(found);
            },
            recipes::list_kind::queue, most);
    }
    /// The names of so many contenders, the last one first.
    static std::vector<std::string> crowd(std::size_t count)
    {
        std::vector<std::string> names;
        for (std::size_t i = count; i != 0; --i)
            names.push_back(numbered("lock-", i - 1));
        return names;
    }
    /// As answer_oldest(), if it is a list: their order is what is tested.
    void list(const std::vector<std::string>& names)
    {
        servers.take().list(names);
        clock.run();
    }
    /// The oldest request is a read, and is answered.
    void show()
    {
        servers.take().show(5, "somebody");
        clock.run();
    }
    [[nodiscard]] std::size_t under_way(const std::string& of) const
    {
        return static_cast<std::size_t>(
            std::count_if(servers.requests.begin(), servers.requests.end(),
                          [&of](const fake_store::request& r) { return r.what.starts_with(of); }));
    }
    void reconnect()
    {
        disconnect();
        reappear();
    }
};

} // namespace zklock::unit

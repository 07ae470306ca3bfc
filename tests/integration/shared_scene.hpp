#pragma once
// What the tests of the shared mutex have in common: readers and writers in the background, and foreign ones.
#include "integration/recipe_scene.hpp"

namespace zklock::test {

[[nodiscard]] inline pending<guard> begin_read(shared_mutex lock, auto... limit)
{
    return begin_acquire(lock.shared(), limit...);
}
[[nodiscard]] inline pending<guard> begin_write(shared_mutex lock, auto... limit)
{
    return begin_acquire(lock, limit...);
}
[[nodiscard]] inline pending<guard> begin_downgrade(shared_mutex lock, guard& held)
{
    pending<guard> p;
    lock.downgrade(std::move(held), p.handler());
    return p;
}

/// The node of a program of another kind, on a path whose readers and writers are named like Curator's.
[[nodiscard]] inline std::string foreign_reader(admin_client& admin, const std::string& path)
{
    return admin.create(path + "/_c_f0-__READ__", {}, create_mode::ephemeral_sequential);
}
[[nodiscard]] inline std::string foreign_writer(admin_client& admin, const std::string& path)
{
    return admin.create(path + "/_c_f1-__WRIT__", {}, create_mode::ephemeral_sequential);
}
/// Which of the path's contenders that session watches, besides its own nodes.
[[nodiscard]] inline std::vector<std::string> watched_by(std::uint16_t port, std::int64_t session)
{
    std::vector<std::string> own;
    if (const auto all = ephemerals(port); all.contains(session))
        own = all.at(session);
    std::vector<std::string> found;
    for (const auto& [node, sessions] : watches(port))
        if (is_contender(node) && std::find(own.begin(), own.end(), node) == own.end() &&
            std::find(sessions.begin(), sessions.end(), session) != sessions.end())
            found.push_back(node);
    return found;
}

/// Until that session watches exactly that one.
inline awaitable<void> until_watches_only(std::uint16_t port, std::int64_t session, std::string node)
{
    const std::string& wanted = node;
    const auto look = [port, session, &wanted] {
        const auto found = watched_by(port, session);
        return found.size() == 1 && found.front() == wanted;
    };
    co_await until("one node is watched, and no other", look);
}

} // namespace zklock::test

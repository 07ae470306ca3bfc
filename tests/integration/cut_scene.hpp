#pragma once
// What the tests of cut connections have in common: paths under which creates can be counted, and clients that are
// warm.
#include "integration/play.hpp"

namespace zklock::test {

/// A new path, there already, so that what is created under it can be counted.
[[nodiscard]] inline std::string new_path(admin_client& admin)
{
    auto path = new_path();
    admin.create_all(path);
    return path;
}

/// The first acquire of a session brings a heartbeat along; done elsewhere, it disturbs no count.
inline awaitable<void> connect_and_warm_up(remote_client& client)
{
    co_await client.connect();
    mutex elsewhere(client.zk, "/faults/warm");
    critical_section section;
    co_await visit(elsewhere, section);
}

} // namespace zklock::test

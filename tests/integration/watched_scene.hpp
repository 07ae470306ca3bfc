#pragma once
// What the tests have in common that wait until a client watches a node, and then change that.
#include "integration/recipe_scene.hpp"

namespace zklock::test {

/// What Curator writes on a holder's node to ask it to let go.
inline const std::string request = "__REVOKE__";

/// Until the program's server has a watch of that client on the node: the proxy between them sees nothing of the look.
inline awaitable<void> until_watched(const remote_client& remote, std::string node)
{
    co_await until("the node is watched", [&] { return watches_node(server().port(), remote.zk.session_id(), node); });
}

} // namespace zklock::test

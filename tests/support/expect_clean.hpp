#pragma once
#include "support/zookeeper_ensemble.hpp"

namespace zklock::test {

/// Waits until the server holds no ephemeral node, no watch, and no child under the given paths (which need not exist
/// any more). Throws with what is left when the limit passes.
void expect_clean(zookeeper_server& server, const std::vector<std::string>& paths = {},
                  milliseconds limit = default_limit);
/// The same while clients live, who keep a watch on a lock's path itself for a while.
void expect_no_contender(zookeeper_server& server, const std::vector<std::string>& paths,
                         milliseconds limit = default_limit);
/// As expect_clean(), for every member that runs.
void expect_clean(zookeeper_ensemble& ensemble, const std::vector<std::string>& paths = {},
                  milliseconds limit = default_limit);

} // namespace zklock::test

#pragma once
#include "servers/traffic.hpp"
#include "support/zookeeper_server.hpp"

namespace zklock::bench {

/// Does what standard input says, a word on each line, until it ends: `count` (from now on), `kill`, `start`, `pause`
/// and `resume` (of the server). A line tells when, in milliseconds since `count`: right before `kill` and `pause`;
/// after the others, for `start` once the server serves. `counts` tells what came in each interval: CONNECTS,REQUESTS
/// and so on.
void serve_outages(test::zookeeper_server& server, traffic& counted);

} // namespace zklock::bench

#pragma once
#include "support/zookeeper_server.hpp"

namespace zklock::test {

/// The server of a program whose tests share one, as it comes. It starts when it is first asked for.
inline zookeeper_server& server()
{
    static zookeeper_server one;
    return one;
}

} // namespace zklock::test

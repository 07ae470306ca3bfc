#pragma once
#include "support/zookeeper_server.hpp"

namespace zklock::test {

/// What server() starts with.
inline server_options& options_of_server()
{
    static server_options options;
    return options;
}

/// A program that wants another server than the usual one has a global variable of this type, which changes its
/// options.
struct server_starts_with {
    template <class Change> explicit server_starts_with(Change change) { change(options_of_server()); }
};

/// The server of a program whose tests share one. It starts when it is first asked for: do that on the main thread.
inline zookeeper_server& server()
{
    static zookeeper_server one(options_of_server());
    return one;
}

} // namespace zklock::test

#pragma once
// The subcommands that look at the queue of a lock, or change it. Each gives the exit status.
#include "tool/program/connection_arguments.hpp"

#include <string>
#include <vector>

namespace zklock::tool {

struct list_arguments {
    list_arguments() = default;

    connection_arguments connection;
    std::vector<std::string> paths;
    bool below = false; ///< also of all locks below the paths
    bool held = false;  ///< nothing is shown: the status says whether all are held
};
/// `zklock ls`: who holds a lock, and who waits.
int list(const list_arguments& given);

/// `zklock top`: the same, again at each change, until a signal comes.
int watch(const connection_arguments& connection, const std::vector<std::string>& paths);

/// `zklock revoke`: asks those who hold a lock to let go.
int revoke(const connection_arguments& connection, const std::string& path);

/// `zklock break`: deletes a contender's node, after it was asked for.
struct break_arguments {
    break_arguments() = default;

    connection_arguments connection;
    std::string path;
    std::string node; ///< its path, its name, or its number
    bool yes = false; ///< nobody is asked
};
int break_node(const break_arguments& given);

} // namespace zklock::tool

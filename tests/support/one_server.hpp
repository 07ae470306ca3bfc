#pragma once
#include "support/zookeeper_server.hpp"

#include <doctest/doctest.h>

#include <map>

namespace zklock::test {

/// The options of server() for the files that want another than the usual one.
inline std::map<std::string, server_options>& options_of_servers()
{
    static std::map<std::string, server_options> by_file;
    return by_file;
}

/// A file whose tests want another server than the usual one has a global variable of this type, which changes its
/// options.
struct server_starts_with {
    template <class Change> explicit server_starts_with(Change change, const char* file = __builtin_FILE())
    {
        change(options_of_servers()[file]);
    }
};

/// The server that a file's tests share; those that want the usual one share that. It starts when it is first asked
/// for: do that on the main thread.
inline zookeeper_server& server()
{
    static std::map<std::string, zookeeper_server> running;
    const char* const file = doctest::getContextOptions()->currentTest->m_file.c_str();
    const auto own = options_of_servers().find(file);
    if (own == options_of_servers().end())
        return running.try_emplace(std::string()).first->second;
    return running.try_emplace(file, own->second).first->second;
}

} // namespace zklock::test

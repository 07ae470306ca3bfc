#pragma once
// What the tests of processes that are forked off have in common.
#include "support/run_until.hpp"
#include "zklock/zklock.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace zklock::test {

/// Runs `life` in a child, which may take no longer than a minute, and tells what it returned.
inline int in_child(const std::function<int()>& life)
{
    const auto child = ::fork();
    REQUIRE(child != -1);
    if (child == 0) {
        ::alarm(60);
        ::_exit(life());
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The same, with Asio told, as it wants to be if the child goes on with the context.
inline int in_child(boost::asio::io_context& io, const std::function<int()>& life)
{
    io.notify_fork(boost::asio::execution_context::fork_prepare);
    const int result = in_child([&] {
        io.notify_fork(boost::asio::execution_context::fork_child);
        return life();
    });
    io.notify_fork(boost::asio::execution_context::fork_parent);
    return result;
}

/// What a try ends with, of a client that is made for it.
inline std::optional<boost::system::error_code> try_once(const client_options& options, const std::string& path)
{
    boost::asio::io_context io;
    client zk(io, options);
    mutex lock(zk, path);
    std::optional<boost::system::error_code> tried;
    zk.wait_connected(default_limit, [&](boost::system::error_code) {
        lock.try_acquire([&](boost::system::error_code ec, const guard&) {
            tried = ec;
            zk.close([](boost::system::error_code) {});
        });
    });
    io.run_for(default_limit);
    return tried;
}

} // namespace zklock::test

#pragma once
// What the tests of the mutex have in common, besides what they share with those of faults.
#include "integration/play.hpp"
#include "support/sanitized.hpp"

#include <fstream>
#include <iterator>
#include <mutex>

namespace zklock::test {

/// For a client of the server that the program's tests share.
[[nodiscard]] inline client_options usual_options()
{
    return fault_options(server().address(), long_session);
}

/// A node that holds the lock of the path, or queues for it, until the administrator deletes it.
inline std::string foreign_contender(admin_client& admin, const std::string& path)
{
    return admin.create(path + "/_c_00000000-0000-4000-8000-000000000000-lock-", "somebody",
                        create_mode::ephemeral_sequential);
}

/// Waits until the server holds exactly these ephemeral nodes, and no watch but those of sessions on nodes of their
/// own, by which a contender notices that somebody deletes its node.
inline awaitable<void> until_only_left(std::uint16_t port, std::vector<std::string> nodes)
{
    std::string found;
    const auto look = [&] {
        found.clear();
        std::map<std::string, std::int64_t> owners;
        for (const auto& [session, paths] : ephemerals(port))
            for (const auto& path : paths) {
                owners[path] = session;
                if (std::find(nodes.begin(), nodes.end(), path) == nodes.end())
                    found += " node " + path;
            }
        for (const auto& path : nodes)
            if (!owners.contains(path))
                found += " missing " + path;
        for (const auto& [path, sessions] : watches(port))
            for (const auto session : sessions)
                if (const auto owner = owners.find(path);
                    is_contender(path) && (owner == owners.end() || owner->second != session))
                    found += " watch on " + path;
        return found.empty();
    };
    try {
        co_await until("what should be left on the server", look);
    } catch (const std::runtime_error& e) {
        throw std::runtime_error(e.what() + (" but:" + found));
    }
}
inline awaitable<void> until_only_left(std::uint16_t port, std::string node) // no list: see src/README.md on gcc 12
{
    std::vector<std::string> nodes(1, std::move(node));
    return until_only_left(port, std::move(nodes));
}

/// Runs them all at once, until the last has ended. Rethrows what the first to fail threw.
inline awaitable<void> together(std::vector<awaitable<void>> parts, milliseconds limit = default_limit)
{
    struct state {
        std::mutex guards;
        std::exception_ptr failure;
        std::atomic<std::size_t> running;
    };
    const auto shared = std::make_shared<state>();
    shared->running = parts.size();
    const auto executor = co_await asio::this_coro::executor;
    for (auto& part : parts)
        asio::co_spawn(executor, std::move(part), [shared](std::exception_ptr e) {
            if (e) {
                const std::lock_guard lock(shared->guards);
                if (!shared->failure)
                    shared->failure = e;
            }
            --shared->running;
        });
    state* const raw = shared.get();
    co_await until(
        "all have ended", [raw] { return raw->running == 0; }, limit);
    if (shared->failure)
        std::rethrow_exception(shared->failure);
}

/// This test program once more, as a process of its own that plays one of its skipped test cases, whose name must have
/// no comma. Make it on the main thread. What it printed is shown if the test fails.
class played_process {
public:
    played_process(const std::string& test_case, const std::vector<std::string>& environment)
    {
        std::vector<std::string> command{"env"};
        command.insert(command.end(), environment.begin(), environment.end());
        command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
        command.push_back("--no-skip");
        command.push_back("--test-case=" + test_case);
        process_ = child_process(std::move(command), directory_.path(), directory_.path() / "output");
    }
    ~played_process()
    {
        process_.kill();
        std::ifstream file(directory_.path() / "output");
        report_on_failure("A process of the test printed:\n" + std::string(std::istreambuf_iterator<char>(file), {}));
    }
    played_process(const played_process&) = delete;
    played_process& operator=(const played_process&) = delete;

    [[nodiscard]] bool running() { return process_.running(); }
    void kill() { process_.kill(); }     ///< SIGKILL
    void pause() { process_.pause(); }   ///< SIGSTOP
    void resume() { process_.resume(); } ///< SIGCONT

    /// For the played test case.
    [[nodiscard]] static std::string argument(const char* name)
    {
        const char* const value = std::getenv(name);
        return value ? value : throw std::runtime_error(std::string(name) + " is not in the environment");
    }

private:
    temporary_directory directory_;
    child_process process_;
};

} // namespace zklock::test

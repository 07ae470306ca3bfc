#pragma once
#include "interoperation/journal.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace zklock::test {

/// Whose program a peer is. zklock_direct is ours, too, and hands locks over past the servers.
enum class maker { curator, kazoo, zklock, zklock_direct, c_recipe };

/// The directory and the journal that the peers of one test share. If the test fails, the journal is printed.
class peer_scene {
public:
    peer_scene() : noted(directory_.path() / "journal") {}
    ~peer_scene();
    peer_scene(const peer_scene&) = delete;
    peer_scene& operator=(const peer_scene&) = delete;

    [[nodiscard]] const std::filesystem::path& directory() const noexcept { return directory_.path(); }

private:
    temporary_directory directory_;

public:
    journal noted;
};

/// A process with one session, that does what it is told, a line each:
///
///     acquire ATTEMPT RECIPE PATH [wait=MS] [hold=MS] [times=N] [OPTION=VALUE...]
///     release ATTEMPT      what it holds without `hold`
///     downgrade ATTEMPT    from exclusive to shared
///     cancel ATTEMPT       while it waits
///     revoke NODE          asks its holder to let go
///     handoffs             tells how often it handed locks over past the servers (zklock_direct's)
///     quit
///
/// and notes what becomes of it. An attempt is a name of its own; with `times` it is as many turns, one after the
/// other, and ends with "done". What recipes and options there are is told at the top of each program.
///
/// If the environment has ZKLOCK_PEER_SASL, it identifies itself by SASL, and its nodes are its own: `DIGEST-MD5 USER
/// PASSWORD`, or `GSSAPI KEYTAB`. kazoo takes the tickets that are there then, and Curator's virtual machine is told by
/// JAVA_TOOL_OPTIONS.
class peer {
public:
    /// Make it on the test's main thread. The session's time-out is what it asks for.
    peer(peer_scene& scene, maker of, std::string name, const std::string& servers,
         milliseconds session_timeout = milliseconds{30'000});
    ~peer();
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const std::string& servers() const noexcept { return servers_; } ///< where it connects to
    /// Whether it deletes the node of an acquire that runs out of time, though its connection is lost just then. kazoo
    /// tries once (`_best_effort_cleanup`): the node may stay until the session ends, and nobody behind it is served.
    [[nodiscard]] bool cleans_up() const noexcept { return of_ != maker::kazoo; }
    void wait_ready() { wait_for("-", "ready"); }
    void say(const std::string& line);
    void wait_for(const std::string& attempt, const std::string& what) { scene_.noted.wait_for(name_, attempt, what); }
    [[nodiscard]] std::size_t count(const std::string& attempt, const std::string& what);
    /// How often it has been granted a lock by word of who let it go, and has given others such word.
    struct handoffs {
        std::uint64_t taken = 0, given = 0;
    };
    [[nodiscard]] handoffs handed_over();
    /// SIGKILL: its session ends by its time-out.
    void kill();
    /// Closes its session and ends; throws unless it does so in order.
    void quit();

private:
    peer_scene& scene_;
    maker of_;
    std::string name_;
    std::string servers_;
    unique_fd input_;
    child_process process_;
};

} // namespace zklock::test

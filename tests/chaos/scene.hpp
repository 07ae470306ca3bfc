#pragma once
#include "chaos/resource.hpp"
#include "support/network.hpp"
#include "support/zookeeper_ensemble.hpp"

#include <span>
#include <stdexcept>

namespace zklock::chaos {

using test::milliseconds;

/// This program, for starting itself with other arguments.
[[nodiscard]] std::string this_program();

[[nodiscard]] test::server_options servers_with_ticks(milliseconds tick, std::vector<std::string> config = {});

/// One that nobody killed.
struct client_ended : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// An ensemble, client processes, what they write to, and the network between all of them. Members are the sites from
/// 0, clients the sites after them. Lives on the main thread.
class scene {
public:
    struct settings {
        std::size_t members = 3, clients = 4;
        milliseconds tick{200}, session_timeout{2000};
        std::uint64_t seed = 0;
        bool handoff = false;
    };
    explicit scene(const settings& chosen);
    ~scene();
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;

    const settings chosen;
    test::network net;
    test::zookeeper_ensemble ensemble;

    [[nodiscard]] test::network::site site_of_client(std::size_t client) const { return chosen.members + client; }
    /// Cuts, slows … everything between a client and the members.
    void for_each_member(const std::function<void(test::network::site)>& f);

    [[nodiscard]] bool any_server_killed();  ///< and not started again
    [[nodiscard]] bool any_server_stopped(); ///< stands still

    void kill_client(std::size_t client);
    void start_client(std::size_t client);
    void pause_client(std::size_t client);
    void resume_client(std::size_t client);
    [[nodiscard]] bool client_killed(std::size_t client) const;
    [[nodiscard]] bool client_stopped(std::size_t client) const; ///< since heal(), also if it goes on
    /// It gives no lock back that it has or gets before heal().
    void make_hold_on(std::size_t client);
    /// It holds on, and soon stops itself between the look at a guard and the write.
    void make_stop_before_write(std::size_t client);
    /// Whether it has done so, and stands still.
    [[nodiscard]] bool stopped_before_write(std::size_t client);
    /// Whether a later holder has written since where it was about to.
    [[nodiscard]] bool overtaken(std::size_t client);
    /// Writes that were refused to clients that had stopped themselves, so far.
    [[nodiscard]] std::size_t refused_after_stop() { return resource_.refused_after_stop(); }

    /// Lets time pass while it looks after the clients: throws client_ended when one does. Calls `now_and_then`
    /// every 50 ms.
    void pass(milliseconds time, const std::function<void()>& now_and_then = {});
    /// The same until it holds, or for default_limit.
    void pass_until(const std::function<bool()>& holds, const std::function<void()>& now_and_then = {});

    /// How many locks the processes have noted to be granted.
    [[nodiscard]] std::size_t grants();

    /// Everything runs and can talk, and the members have found each other.
    void heal();

    /// Asks all clients to come to their end, waits for that and for the end of the sessions of those that were killed.
    /// Complaints about what was left or did not end are added to `violations`. False if one ended with an error.
    bool finish(std::vector<std::string>& violations);

    /// After finish(): what the processes noted.
    [[nodiscard]] history take_history();
    /// And what the servers have executed of their commits.
    void take_commits(history& h);
    /// For each member whose data are others than the leader's: what its log says of that.
    [[nodiscard]] std::vector<std::string> different_members();
    /// What the processes printed, if anything.
    [[nodiscard]] std::string output() const;

private:
    struct client_process {
        int number = 0;
        test::child_process process;
        std::string servers;
        instant paused_at = 0;
        bool may_stop = false;    ///< it was asked to
        bool stood_still = false; ///< since heal()
    };
    void look_after_clients();
    void notice_stop(client_process& c);
    bool await_end(std::span<client_process> all, std::vector<std::string>& violations);
    [[nodiscard]] std::string contenders_left();
    [[nodiscard]] std::vector<executed_commit> executed();
    [[nodiscard]] std::filesystem::path file(const char* kind, int process) const;

    test::temporary_directory directory_;
    resource resource_;
    std::vector<client_process> clients_;
    int last_process_ = 0;
    std::map<int, std::streamoff> grants_read_; ///< of each process's notes
    std::size_t grants_ = 0;
    std::map<int, instant> killed_;
    std::map<int, std::vector<std::pair<instant, instant>>> pauses_;
};

} // namespace zklock::chaos

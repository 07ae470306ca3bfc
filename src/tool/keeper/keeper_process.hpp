#pragma once
#include "tool/keeper/child.hpp"
#include "tool/keeper/messages.hpp"
#include "tool/keeper/stop_times.hpp"

#include <zklock/events.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zklock::tool {

/// The keeper: a process between the tool and the command, which makes sure that the command never outlives the lock,
/// whatever happens to the tool. It was forked before the tool opened anything: so the command inherits what the tool
/// was started with, and nothing else.
///
/// - It is the command's parent, and adopts the orphans among its descendants. So it knows when nothing is left of it.
/// - It knows the end of the lease, and stops the command in time before that, even if the tool is stopped or hangs.
/// - When the tool is gone, however that came about, it kills what is left, at once.
/// - It is in a process group of its own and takes no signals, so what is meant for the command or for the tool, in a
///   terminal too, does not reach it. (kill -9 does: then the tool does its work.)
///
/// It has one thread, and waits for nothing but the tool, its children and the time.
class keeper_process {
public:
    /// @param tool Its end of the pair that `messages.hpp` speaks of.
    keeper_process(int tool, std::vector<std::string> command, stop_times times, const inherited_signals& before);

    /// Serves the tool until it is gone and nothing is left of the command.
    void run();

private:
    using time_point = lease_clock::time_point;

    enum class phase {
        idle,     ///< no command
        running,  ///< the command runs
        draining, ///< it has ended, and others of its group are still there: they have a while to end by themselves
        stopping, ///< TERM was sent
        killing   ///< KILL was sent, and is again for those who came to be meanwhile
    };

    void wait();
    /// Gives whether there was one.
    bool take_order();
    void obey(const order& what, std::string_view environment);
    void start(const order& what, std::string_view environment);
    void reap();
    void command_changed(int status);
    void advance();
    void stop(bool everything);
    void kill();
    [[nodiscard]] std::size_t signal(int number);
    [[nodiscard]] bool over() const;
    [[nodiscard]] time_point kill_time() const;
    /// When there is something to be done, if nothing happens before.
    [[nodiscard]] std::optional<time_point> due() const;
    void tell(report_kind what, int number = 0);

    const int tool_;
    int children_ = -1; ///< tells of SIGCHLD
    int timer_ = -1;
    const std::vector<std::string> command_;
    const stop_times times_;
    const inherited_signals before_;

    bool tool_gone_ = false;
    phase phase_ = phase::idle;
    pid_t group_ = 0; ///< the command's process, and its group; not used again while the group has members
    bool command_ended_ = false;
    bool everything_ = false; ///< what has left the group is stopped, too
    bool outlived_told_ = false;
    bool stuck_told_ = false;
    bool denied_told_ = false;
    time_point lease_end_{};
    time_point drain_end_{};
    time_point stop_began_{};
    time_point kill_began_{};
    time_point next_look_{}; ///< nobody tells of the end of a process whose parent is not the keeper
};

} // namespace zklock::tool

#pragma once
#include "tool/keeper/messages.hpp"
#include "tool/keeper/process_tree.hpp"
#include "tool/keeper/stop_times.hpp"

#include <zklock/events.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace zklock::tool {

/// The tool's side of its keeper (`keeper_process.hpp`). Belongs to one thread.
class keeper {
public:
    /// Forks the process. To be made before anything else: before threads, sockets and changed signals.
    /// @throws std::system_error
    keeper(const std::vector<std::string>& command, stop_times times);
    /// Waits for the process to end, which kills the command if it still runs. It is woken if somebody has stopped it.
    ~keeper();
    keeper(const keeper&) = delete;
    keeper& operator=(const keeper&) = delete;

    /// From now on `told` is called on the context with each report, and with `nullopt` when the keeper has ended
    /// before it was told to. The context has to outlive this object, or stop_listening() is to be called before.
    void listen(boost::asio::io_context& io, std::function<void(std::optional<report>)> told);
    void stop_listening();

    /// Starts the command with these additions to its environment, `NAME=value`; it is stopped before that time.
    void start(lease_clock::time_point lease_end, const std::vector<std::string>& additions);
    void extend(lease_clock::time_point lease_end) { send(order_kind::extend, 0, lease_end); }
    void signal(int number) { send(order_kind::signal, number); }
    void stop() { send(order_kind::stop); }
    void lose(lease_clock::time_point lease_end) { send(order_kind::lose, 0, lease_end); }

    /// Orders that a keeper has no room for, because it is stopped, wait here. This tries them again; so does the next
    /// order.
    void send_unsent();

    // Neither may be called when it has ended.
    /// Has the process go on if somebody has stopped it.
    void wake() const;
    /// Kills the process if it is stopped all the same, by a debugger, say. Then it has ended, for listen(), too.
    void kill_if_stopped() const;

    /// In its place, when it has ended: sends KILL to the group and to all other descendants of this process. Gives how
    /// many there were: to be called again after a while until there are none.
    static signalled kill_all(pid_t group);

private:
    void send(order_kind what, int number = 0, lease_clock::time_point until = {}, const std::string& more = {});
    void receive();

    pid_t process_ = 0;
    int socket_ = -1;
    std::deque<std::string> unsent_;
    bool extension_unsent_ = false; ///< the last of them is one
    std::function<void(std::optional<report>)> told_;
    std::optional<boost::asio::posix::stream_descriptor> reports_;
};

} // namespace zklock::tool

#include "tool/keeper/keeper.hpp"

#include "tool/keeper/keeper_process.hpp"
#include "tool/keeper/process_tree.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

namespace zklock::tool {
namespace {

/// What the forked process does.
[[noreturn]] void keep(int tool, const std::vector<std::string>& command, stop_times times)
{
    int status = 0;
    try {
        inherited_signals before;
        struct sigaction usual {};
        usual.sa_handler = SIG_DFL; // where it is ignored, nobody could be waited for
        ::sigaction(SIGCHLD, &usual, &before.child);
        sigset_t all;
        ::sigfillset(&all);
        ::sigprocmask(SIG_SETMASK, &all, &before.mask);
        ::setpgid(0, 0);
        keeper_process(tool, command, times, before).run();
    } catch (const std::exception&) { // NOLINT: the tool notices that it has ended, and says so
        status = 1;
    }
    ::_exit(status);
}

} // namespace

keeper::keeper(const std::vector<std::string>& command, stop_times times)
{
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        throw std::system_error(errno, std::generic_category(), "socketpair");
    adopt_orphans(); // the keeper's, should it be killed
    process_ = ::fork();
    if (process_ < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    if (process_ == 0) {
        ::close(pair[0]);
        keep(pair[1], command, times);
    }
    ::close(pair[1]);
    socket_ = pair[0];
}

keeper::~keeper()
{
    reports_.reset();
    ::close(socket_);
    if (::waitpid(process_, nullptr, WNOHANG) != 0)
        return; // it has ended, and its number may be somebody else's
    wake();
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void keeper::listen(boost::asio::io_context& io, std::function<void(std::optional<report>)> told)
{
    told_ = std::move(told);
    reports_.emplace(io, ::fcntl(socket_, F_DUPFD_CLOEXEC, 0));
    receive();
}

void keeper::stop_listening()
{
    reports_.reset();
}

void keeper::receive()
{
    using boost::asio::posix::stream_descriptor;
    reports_->async_wait(stream_descriptor::wait_read, [this](boost::system::error_code error) {
        if (error)
            return;
        report text;
        const ssize_t length = ::recv(socket_, &text, sizeof text, MSG_DONTWAIT);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
            return receive();
        if (length <= 0)
            return told_(std::nullopt);
        if (length == static_cast<ssize_t>(sizeof text)) // nobody else has the other end, and it says nothing else
            told_(text);
        if (reports_)
            receive();
    });
}

void keeper::start(lease_clock::time_point lease_end, const std::vector<std::string>& additions)
{
    std::string environment;
    for (const std::string& each : additions)
        environment.append(each).push_back('\0');
    send(order_kind::start, 0, lease_end, environment);
}

void keeper::send(order_kind what, int number, lease_clock::time_point until, const std::string& more)
{
    const order head{what, number, until.time_since_epoch().count()};
    std::string packet(sizeof head, '\0');
    std::memcpy(packet.data(), &head, sizeof head);
    packet += more;
    if (what == order_kind::extend && extension_unsent_ && !unsent_.empty())
        unsent_.back() = std::move(packet); // it says all that the other one did
    else
        unsent_.push_back(std::move(packet));
    extension_unsent_ = what == order_kind::extend;
    send_unsent();
}

void keeper::send_unsent()
{
    while (!unsent_.empty()) {
        const std::string& packet = unsent_.front();
        const ssize_t sent = ::send(socket_, packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        unsent_.pop_front(); // if the keeper has ended, listen() tells
    }
}

void keeper::wake() const
{
    ::kill(process_, SIGCONT);
}

void keeper::kill_if_stopped() const
{
    if (is_stopped(process_))
        ::kill(process_, SIGKILL);
}

signalled keeper::kill_all(pid_t group)
{
    signalled left = signal_all(group, SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    left.all = has_children() ? std::max<std::size_t>(left.all, 1) : 0; // /proc may tell nothing
    return left;
}

} // namespace zklock::tool

#include "bridge/wire.hpp"
#include "bridge/first_answer.hpp"
#include "bridge/result_codes.hpp"
#include "bridge/wire_library.hpp"
#include "runtime/forks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <fcntl.h>

namespace zklock::bridge {

namespace {

// TCP refuses to connect to a broadcast or a multicast address before it has sent anything, on any machine.
constexpr const char* nowhere_ipv4 = "255.255.255.255:9";
constexpr const char* nowhere_ipv6 = "ff00:::9"; // the C client takes what follows the last colon for the port

/// An address of the same family as that one: the C client knows only the families in which the machine has an address.
const char* nowhere_like(const std::string& address)
{
    return std::ranges::count(address, ':') > 1 ? nowhere_ipv6 : nowhere_ipv4;
}

// From 2^30 ms on the C client's arithmetic with it overflows, and each attempt is over before it begins.
constexpr std::int64_t longest_session_timeout = (std::int64_t{1} << 30) - 1;

// What the inbox is told of one connection besides answers and events: its begin, its end, and that of the session.
constexpr std::size_t most_of_epoch = 3;

} // namespace

wire::wire(inbox& in, const client_options& options, std::string chroot)
    : inbox_(in), options_(options), chroot_(std::move(chroot)), fork_count_(runtime::fork_count()),
      access_(std::make_unique<access_lists>())
{
    access_->clients.refer_to(options_.access);
}

wire::~wire() { abandon(); }

bool wire::is_forked() const noexcept { return runtime::fork_count() != fork_count_; }

/// One of those that connect() has made room for.
void wire::push_of_epoch(message m) noexcept
{
    if (room_of_epoch_ != 0)
        --room_of_epoch_;
    inbox_.push_reserved(std::move(m));
}

bool wire::connect(const std::string& address)
{
    library_call in_library(*this);
    try {
        inbox_.reserve(most_of_epoch - room_of_epoch_);
        room_of_epoch_ = most_of_epoch;
        address_ = address;
        why_.clear();
        attempt_told_ = false;
    } catch (const std::bad_alloc&) { // an attempt that has failed: there will be others
        return false;
    }
    believed_ = false;
    log(log_level::debug, "connecting to ", address);
    if (!open(address))
        return false;
    int fd = -1, interest = 0;
    timeval within{};
    int code = zookeeper_interest(handle_, &fd, &interest, &within);
    // After a failed attempt the first call only tells of a delay. The caller has waited already.
    if (code == ZOK && fd == -1)
        code = zookeeper_interest(handle_, &fd, &interest, &within);
    fd_ = code == ZOK ? fd : -1;
    if (code != ZOK)
        attempt_failed(log_level::info, "cannot connect to ", address, ": ", describe(code));
    else if (fd_ != -1)
        ::fcntl(fd_, F_SETFD, FD_CLOEXEC); // the library does not, and child processes would keep the socket
    settle();
    return has_socket();
}

bool wire::open(const std::string& address)
{
    nowhere_ = nowhere_like(address);
    if (handle_) {
        // No socket is open, so this only says where the next goes. Keeping the handle keeps the last transaction seen,
        // and with it no server that lags behind it is accepted.
        // The library compares addresses without their ports, and takes a list that it finds equal for no change: it
        // would go on with the old port. So it is shown another address in between, to which it is never connected.
        int code = zoo_set_servers(handle_, nowhere_);
        if (code == ZOK)
            code = zoo_set_servers(handle_, address.c_str());
        if (code != ZOK) {
            attempt_failed(log_level::warning, "the ZooKeeper library refuses ", address, ": ", describe(code));
            return false;
        }
        return true;
    }
    clientid_t id{};
    id.client_id = session_id_;
    std::memcpy(id.passwd, session_secret_, sizeof id.passwd);
    auto timeout =
        static_cast<int>(std::clamp<std::int64_t>(options_.session_timeout.count(), 1, longest_session_timeout));
    handle_ = zookeeper_init2(address.c_str(), &callbacks::on_event, timeout, session_id_ ? &id : nullptr, this,
                              ZOO_NO_LOG_CLIENTENV, &callbacks::on_log);
    if (!handle_) {
        attempt_failed(log_level::warning, "the ZooKeeper library refuses ", address, ": ", std::strerror(errno));
        return false;
    }
    zoo_set_servers_resolution_delay(handle_, -1);
    for (const auto& who : options_.auth)
        zoo_add_auth(handle_, who.scheme.c_str(), who.secret.data(), static_cast<int>(who.secret.size()), nullptr,
                     nullptr);
    return true;
}

interest wire::next_interest()
{
    library_call in_library(*this);
    if (!has_socket())
        return {};
    int fd = -1, interest = 0;
    timeval within{};
    int code = zookeeper_interest(handle_, &fd, &interest, &within);
    if (code != ZOK) // also a ping that could not be sent, where the library leaves the connection open
        must_cut_ = true;
    settle();
    if (!has_socket())
        return {};
    fd_ = fd;
    return {fd, (interest & ZOOKEEPER_WRITE) != 0,
            std::chrono::milliseconds{within.tv_sec * 1000 + (within.tv_usec + 999) / 1000}};
}

bool wire::process(bool writable, int limit)
{
    library_call in_library(*this);
    int code = has_socket() ? ZOK : ZNOTHING;
    for (; code == ZOK && limit > 0; --limit) {
        if (zoo_state(handle_) == ZOO_ASSOCIATING_STATE && !believed_ && !server_has_answered()) {
            code = ZNOTHING;
            break;
        }
        // While the TCP connection is being made, only the write side may be looked at.
        int events = phase_ == phase::connecting && zoo_state(handle_) == ZOO_CONNECTING_STATE
                         ? ZOOKEEPER_WRITE
                         : ZOOKEEPER_READ | (writable ? ZOOKEEPER_WRITE : 0);
        writable = false;
        const auto unanswered = unanswered_;
        code = zookeeper_process(handle_, events);
        if (must_cut_)
            break;
        // Nothing else is expected, and looking for it costs as much as reading it.
        if (code == ZOK && unanswered != 0 && unanswered_ == 0)
            code = ZNOTHING;
    }
    settle();
    return code == ZOK && has_socket();
}

/// Looks at what came before the library believes it.
bool wire::server_has_answered()
{
    using kind = first_answer::kind;
    const auto answer = look_at_first_answer(fd_);
    if (answer.what == kind::foreign)
        attempt_failed(log_level::warning, address_, " is no ZooKeeper server: its answer begins with \"",
                       answer.begins, "\"");
    else if (answer.what == kind::none)
        attempt_failed(log_level::info, address_,
                       " closed the connection without an answer: it is no ZooKeeper server, or does not serve, or "
                       "takes no more clients");
    must_cut_ = must_cut_ || answer.what == kind::foreign || answer.what == kind::none;
    believed_ = answer.what == kind::session;
    return believed_;
}

std::optional<std::pair<std::string, std::string>> wire::attempt()
{
    if (phase_ != phase::connecting)
        return std::nullopt;
    const library_call in_library(*this);
    return std::pair(address_, address_ + (zoo_state(handle_) == ZOO_ASSOCIATING_STATE
                                               ? " has accepted the connection and has not answered yet: it is no "
                                                 "ZooKeeper server, or overloaded"
                                               : " has not accepted the connection yet"));
}

void wire::give_up()
{
    {
        library_call in_library(*this);
        if (phase_ == phase::connecting)
            attempt_failed(
                log_level::info, address_,
                zoo_state(handle_) == ZOO_ASSOCIATING_STATE
                    ? " accepted the connection and did not answer in time: it is no ZooKeeper server, or overloaded"
                    : " did not accept the connection in time");
    }
    sever();
}

void callbacks::on_event(zhandle_t* handle, int type, int state, const char* path, void* context) noexcept
{
    auto& to = *static_cast<wire*>(context);
    if (type == ZOO_SESSION_EVENT) {
        if (state != ZOO_CONNECTED_STATE)
            return; // settle() sees what became of it, once its requests are answered
        if (to.epoch_open_) { // a connection was lost unnoticed
            to.must_cut_ = true;
            return;
        }
        const clientid_t* id = zoo_client_id(handle);
        const bool renewed = std::exchange(to.session_id_, id->client_id) != id->client_id;
        std::memcpy(to.session_secret_, id->passwd, sizeof to.session_secret_);
        const auto granted_before =
            std::exchange(to.granted_, std::chrono::milliseconds{zoo_recv_timeout(handle)});
        to.epoch_open_ = true;
        to.push_of_epoch(connected{++to.epoch_, to.session_id_, to.granted_});
        to.log_connected(renewed, granted_before);
        return;
    }
    to.watch_fired(path, type);
    auto kind = type == ZOO_DELETED_EVENT   ? store::event_kind::deleted
                : type == ZOO_CREATED_EVENT ? store::event_kind::created
                : type == ZOO_CHILD_EVENT   ? store::event_kind::children_changed
                                            : store::event_kind::data_changed;
    try {
        to.inbox_.push(node_event{kind, std::string{to.without_chroot(path)}});
    } catch (const std::bad_alloc&) { // in the next epoch all is looked at anew
        to.must_cut_ = true;
    }
}

} // namespace zklock::bridge

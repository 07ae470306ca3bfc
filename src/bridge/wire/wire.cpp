#include "bridge/wire/wire.hpp"
#include "bridge/wire/first_answer.hpp"
#include "bridge/wire/wire_library.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace zklock::bridge {

namespace {

// From 2^30 ms on the C client's arithmetic with it overflows, and each attempt is over before it begins.
constexpr std::int64_t longest_session_timeout = (std::int64_t{1} << 30) - 1;

} // namespace

wire::wire(inbox& in, store_requests& requests, const client_options& options)
    : inbox_(in), options_(options), log_(in, options), requests_(requests), fork_count_(runtime::fork_count())
{
}

wire::~wire()
{
    inbox_.discard();
    abandon();
    inbox_.drop_discarded();
}

void wire::begin(const std::string& address, session_question asks)
{
    believed_ = authenticating_ = false;
    asks_ = asks;
    answer_ = session_answer::none;
    phase_ = phase::dialing;
    log_.attempt_begins(address);
}

void wire::unreached(const error_code& why)
{
    phase_ = phase::none;
    log_.attempt_failed(log_level::info, "cannot connect to ", log_.address(), ": ", why.message());
}

loss wire::take_loss() noexcept
{
    const loss told = std::exchange(loss_, loss::connection);
    return log_.was_refused() ? loss::credentials : told;
}

void wire::fail(loss what, std::string_view by, std::string_view why)
{
    loss_ = what;
    log_.attempt_failed(log_level::warning, "no ", by, " with ", log_.address(), ": ", why);
    sever();
}

void wire::sasl_refused(std::string_view why)
{
    log_.refused(std::string(" refuses this client: ").append(why));
    sever();
}

void wire::has_authenticated(std::string_view by)
{
    authenticating_ = false;
    log_(log_level::debug, log_.address(), " and this client have identified themselves to each other by ", by);
}

void wire::leave()
{
    log_.attempt_failed(log_level::info, "no host name leads to ", log_.address(),
                        " any more: the attempt to connect there has ended");
    sever();
}

/// The library wants to connect by itself. So it is pointed at a decoy, and finds that it is connected, to the server:
/// the socket of which it waits for that is replaced in between. It never learns a server's address; so whatever it
/// makes of a connection that has ended, it sends nothing to anybody unless it is given the next one here.
bool wire::connect(int socket)
{
    library_call in_library(*this);
    phase_ = phase::none;
    if (asks_ != session_question::service)
        set_handle_aside();
    // The C client knows only the families in which the machine has an address.
    decoy& last = decoy_ ? *decoy_ : decoys_.front();
    fd_ = socket_towards(last);
    const int error = errno;
    if (fd_ == -1)
        fd_ = socket_towards(&last == &decoys_.front() ? decoys_.back() : decoys_.front());
    if (fd_ == -1) {
        if (!log_.has_told_failure())
            log_.attempt_failed(log_level::warning, "cannot connect to ", log_.address(),
                                ": the C client gets no socket of its own: ", log_.reason(std::strerror(error)));
        settle();
        return false;
    }
    log_.forget_reason(); // a decoy's
    phase_ = phase::associating;
    if (::dup3(socket, fd_, O_CLOEXEC) == -1) {
        log_.attempt_failed(log_level::warning, "cannot connect to ", log_.address(), ": ", std::strerror(errno));
        must_cut_ = true;
    } else {
        zookeeper_process(handle_, ZOOKEEPER_WRITE);
    }
    settle();
    return has_socket();
}

bool wire::go_on_with(int socket) noexcept
{
    return has_socket() && ::dup3(socket, fd_, O_CLOEXEC) != -1;
}

/// -1 when the library does not want to connect there.
int wire::socket_towards(decoy& where)
{
    if (!point_at(where))
        return -1;
    int fd = -1, interest = 0;
    timeval within{};
    int code = zookeeper_interest(handle_, &fd, &interest, &within);
    // After a failed attempt the first call only tells of a delay. The caller has waited already.
    if (code == ZOK && fd == -1)
        code = zookeeper_interest(handle_, &fd, &interest, &within);
    return code == ZOK ? fd : -1;
}

/// Keeping the handle keeps the last transaction seen, and with it no server that lags behind it is accepted.
bool wire::point_at(decoy& where)
{
    if (!where.bind())
        return false;
    decoy* const before = std::exchange(decoy_, &where);
    if (handle_) // which keeps what it is told, also where it finds no address in it
        return before == &where || zoo_set_servers(handle_, where.address().c_str()) == ZOK;
    clientid_t id{};
    id.client_id = session_id_;
    std::memcpy(id.passwd, session_secret_, sizeof id.passwd);
    auto timeout =
        static_cast<int>(std::clamp<std::int64_t>(options_.session_timeout.count(), 1, longest_session_timeout));
    handle_ = zookeeper_init2(where.address().c_str(), &wire::on_event, timeout, session_id_ ? &id : nullptr, this,
                              ZOO_NO_LOG_CLIENTENV, &wire::on_log);
    if (!handle_)
        return false;
    handle_is_new_ = true;
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
    // Also a ping that could not be sent, where the library leaves the connection open.
    must_cut_ = must_cut_ || code != ZOK || fd != fd_;
    settle();
    if (!has_socket())
        return {};
    return {(interest & ZOOKEEPER_WRITE) != 0,
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
        const auto unanswered = requests_.unanswered();
        code = zookeeper_process(handle_, ZOOKEEPER_READ | (std::exchange(writable, false) ? ZOOKEEPER_WRITE : 0));
        if (must_cut())
            break;
        // Nothing else is expected, and looking for it costs as much as reading it.
        if (code == ZOK && unanswered != 0 && requests_.unanswered() == 0)
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
    const bool in_clear = !options_.tls.enabled;
    if (answer.what == kind::tls_alert && in_clear)
        log_.attempt_failed(log_level::warning, log_.address(),
                            " is a port for TLS, and client_options::tls is off: it answers with an alert of TLS");
    else if (answer.what == kind::foreign || answer.what == kind::tls_alert)
        log_.attempt_failed(log_level::warning, log_.address(), " is no ZooKeeper server: its answer begins with \"",
                            answer.begins, "\"");
    else if (answer.what == kind::none)
        hung_up_unanswered();
    believed_ = answer.what == kind::session;
    if (believed_ && session_id_ != 0 && answer.session != session_id_ && !believes_expiry_) {
        log_.attempt_failed(log_level::info, log_.address(), " says that session ", store::session_name{session_id_},
                            " has expired, which is not believed: since the connection was lost, no host name was "
                            "found to lead there");
        loss_ = loss::disbelieved;
        must_cut_ = true;
        believed_ = false;
    }
    must_cut_ = must_cut_ || !(believed_ || answer.what == kind::incomplete);
    return believed_;
}

void wire::hung_up_unanswered()
{
    answer_ = session_answer::hung_up;
    if (asks_ != session_question::service) { // as it did before
        log_.attempt_failed_as_before();
        return;
    }
    log_.attempt_failed(log_level::info, log_.address(),
                        " closed the connection without an answer: it is no ZooKeeper server, or does not serve, or "
                        "takes no more clients",
                        session_id_ ? ", or was set back to before what this client has seen" : "",
                        options_.tls.enabled ? "" : ", or is a port for TLS: client_options::tls is off");
}

/// What the log says of an attempt that has come so far, behind the server's address.
struct wire::how_far {
    const char* so_far = nullptr; ///< null where there is no attempt
    log_level level{};
    const char* in_time = nullptr; ///< that it came no further, in its time
};

auto wire::has_come() const noexcept -> how_far
{
    switch (phase_) {
    case phase::identifying:
        return {" was not dialed yet: no Kerberos server (KDC) has answered yet", log_level::warning,
                " was not dialed: no Kerberos server (KDC) has answered in time"};
    case phase::dialing:
        return {" has not accepted the connection yet", log_level::info, " did not accept the connection in time"};
    case phase::securing:
        return {" has accepted the connection and has not agreed on TLS yet: it speaks no TLS, or is overloaded",
                log_level::info,
                " accepted the connection and did not agree on TLS in time: it speaks no TLS, or is overloaded"};
    case phase::associating:
        if (authenticating_)
            return {" has granted a session and is still authenticating this client", log_level::warning,
                    " granted a session and did not authenticate this client in time"};
        return {" has accepted the connection and has not answered yet: it is no ZooKeeper server, or overloaded",
                log_level::info,
                " accepted the connection and did not answer in time: it is no ZooKeeper server, or overloaded"};
    case phase::none:
    case phase::connected: break;
    }
    return {};
}

std::optional<std::string> wire::attempt() const
{
    const char* const so_far = has_come().so_far;
    return so_far ? std::optional(log_.address() + so_far) : std::nullopt;
}

void wire::end_attempt()
{
    if (const auto [so_far, level, in_time] = has_come(); so_far)
        log_.attempt_failed(level, log_.address(), in_time);
    sever();
}

void wire::on_log(const char* line) noexcept
{
    if (wire* const to = library_call::current)
        to->inbox_.fill([&] {
            to->log_.c_client_says(line, to->decoy_ ? to->decoy_->logged() : std::string_view(), to->has_socket());
        });
}

void wire::on_event(_zhandle*, int type, int state, const char* path, void* self) noexcept
{
    auto& to = *static_cast<wire*>(self);
    to.inbox_.fill([&] {
        if (type == ZOO_SESSION_EVENT)
            to.on_session_event(state);
        else
            to.requests_.fired(path, type == ZOO_DELETED_EVENT   ? store::event_kind::deleted
                                     : type == ZOO_CREATED_EVENT ? store::event_kind::created
                                     : type == ZOO_CHILD_EVENT   ? store::event_kind::children_changed
                                                                 : store::event_kind::data_changed);
    });
}

void wire::on_session_event(int state)
{
    if (state != ZOO_CONNECTED_STATE)
        return; // settle() sees what became of it, once its requests are answered
    if (asks_ != session_question::service)
        return;                 // settle() takes note of it
    if (requests_.in_epoch()) { // a connection was lost unnoticed
        must_cut_ = true;
        return;
    }
    const clientid_t* id = zoo_client_id(handle_);
    const bool renewed = std::exchange(session_id_, id->client_id) != id->client_id;
    std::memcpy(session_secret_, id->passwd, sizeof session_secret_);
    const auto granted_before = std::exchange(granted_, std::chrono::milliseconds{zoo_recv_timeout(handle_)});
    const auto epoch = requests_.begin_epoch(handle_);
    const bool may_lag = std::exchange(handle_is_new_, false) && !renewed;
    inbox_.push(connected{epoch, {session_id_, granted_, renewed, {}, may_lag}});
    log_.connected(session_id_, renewed, granted_, granted_before);
}

} // namespace zklock::bridge

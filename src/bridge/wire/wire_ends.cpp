// How a connection ends, and the session: at the caller's wish, or because the library has given it up.
#include "bridge/wire/first_answer.hpp"
#include "bridge/wire/readiness.hpp"
#include "bridge/wire/wire.hpp"
#include "bridge/wire/wire_library.hpp"

#include <new>
#include <optional>
#include <tuple>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace zklock::bridge {

void wire::sever()
{
    library_call in_library(*this);
    if (is_dialing()) {
        phase_ = phase::none;
    } else if (has_socket()) {
        if (!inbox_.discards())
            log_.will_end("this client has given it up");
        cut();
    }
    settle();
}

void wire::close()
{
    library_call in_library(*this);
    drop_handle();
    end_epoch();
}

void wire::abandon()
{
    if (is_forked()) {
        leave_to_parent();
        return;
    }
    library_call in_library(*this);
    if (is_dialing())
        phase_ = phase::none;
    if (handle_ && has_socket())
        prepare_to_close();
    drop_handle();
    take_handle_back();
    drop_handle();
    end_epoch();
}

/// Has the library close without a moment's stop: its request to close leaves if that is possible at once.
void wire::prepare_to_close()
{
    int fd = -1, interest = 0;
    timeval within{};
    const bool idle = zoo_state(handle_) == ZOO_CONNECTED_STATE &&
                      zookeeper_interest(handle_, &fd, &interest, &within) == ZOK && fd == fd_ && fd != -1 &&
                      !(interest & ZOOKEEPER_WRITE) && is_ready(fd, POLLOUT);
    if (idle && zoo_state(handle_) == ZOO_CONNECTED_STATE)
        ::shutdown(fd, SHUT_RD); // ends the library's wait for an answer, and its request to close still leaves
    else
        cut();
}

/// Anything that the library sends would reach the parent's connection, and so would a shutdown. So the handle is left
/// as it is, and so is the lock around the library, which another thread of the parent may have held.
void wire::leave_to_parent()
{
    if (has_socket() && fd_ != -1)
        ::close(fd_);
    handle_ = nullptr;
    aside_.reset();
    phase_ = phase::none;
    fd_ = -1;
    end_epoch();
}

// --- what the library did --------------------------------------------------------------------------------------------

/// Brings the inbox in line with what the library did in the call before. What its callbacks had no memory for is
/// thrown here.
void wire::settle()
{
    if (aside_)
        follow_question();
    else if (handle_ && !is_dialing())
        follow_state();
    forget_to_cut(); // cutting gives answers that would ask for it again
    if (inbox_.lacked_memory())
        throw std::bad_alloc();
}

void wire::follow_state()
{
    if (must_cut())
        cut();
    int state = zoo_state(handle_);
    const bool was_associating = phase_ == phase::associating;
    if (state == ZOO_CONNECTED_STATE)
        phase_ = phase::connected;
    else if (state == ZOO_ASSOCIATING_STATE)
        phase_ = phase::associating;
    else
        phase_ = phase::none;
    if (phase_ == phase::connected)
        return;

    if (state == ZOO_AUTH_FAILED_STATE)
        log_.refused(" refuses the credentials");
    if (requests_.in_epoch())
        log_.connection_ended();
    if (state == ZOO_EXPIRED_SESSION_STATE)
        log_.session_expired(session_id_);
    else if (phase_ == phase::none && was_associating && !requests_.in_epoch() && !log_.has_told_failure())
        log_.attempt_failed(log_level::info, "cannot connect to ", log_.address(), ": ", log_.reason());
    if (requests_.in_epoch() || requests_.unanswered()) {
        fail_unanswered();
        end_epoch();
    }
    if (phase_ == phase::associating)
        return;
    fd_ = -1;
    if (state == ZOO_AUTH_FAILED_STATE) {
        drop_handle(); // which does not end the session: it goes on in the next handle
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
        drop_handle();
        session_id_ = 0;
        loss_ = loss::session;
        inbox_.push(expired{});
    }
}

void wire::refused_by_all()
{
    log_.refused_by_all();
    session_id_ = 0;
    inbox_.push(authentication_failed{});
}

/// A connection that nobody hears of: only a word about the session is wanted from it.
void wire::follow_question()
{
    if (handle_ && must_cut())
        cut();
    const int state = handle_ ? zoo_state(handle_) : ZOO_NOTCONNECTED_STATE;
    if (state == ZOO_ASSOCIATING_STATE) {
        phase_ = phase::associating;
        return;
    }
    if (state == ZOO_CONNECTED_STATE)
        answer_ = session_answer::taken_up;
    else if (state == ZOO_EXPIRED_SESSION_STATE)
        answer_ = session_answer::unknown;
    else if (state == ZOO_AUTH_FAILED_STATE)
        log_.refused(" refuses the credentials");
    if (state == ZOO_CONNECTED_STATE && asks_ == session_question::end)
        prepare_to_close();
    else if (state == ZOO_CONNECTED_STATE)
        cut(); // or the library would end the session
    log_.question_answered(session_id_, asks_, answer_);
    phase_ = phase::none;
    drop_handle();
    take_handle_back();
}

/// The next one begins with nothing seen. Servers take it for a client that has missed all.
void wire::set_handle_aside() noexcept
{
    aside_.emplace(std::exchange(handle_, nullptr), decoy_, handle_is_new_);
}

void wire::take_handle_back()
{
    asks_ = session_question::service;
    if (aside_)
        std::tie(handle_, decoy_, handle_is_new_) = *std::exchange(aside_, std::nullopt);
}

void wire::give_session_up()
{
    library_call in_library(*this);
    log_.session_given_up(session_id_);
    drop_handle();
    session_id_ = 0;
    loss_ = loss::session;
    inbox_.push(expired{});
}

void wire::end_epoch()
{
    if (!requests_.in_epoch())
        return;
    requests_.end_epoch(handle_);
    inbox_.push(disconnected{});
}

/// Has the library notice that its socket is finished, the way it notices any other loss.
void wire::cut()
{
    bool shut = false;
    for (int code = ZOK; code == ZOK || code == ZNOTHING;) {
        int state = zoo_state(handle_);
        if (state != ZOO_CONNECTED_STATE && state != ZOO_CONNECTING_STATE && state != ZOO_ASSOCIATING_STATE)
            return; // the library has closed the socket, and its number may be another's now
        if (state == ZOO_ASSOCIATING_STATE)
            disconnect(fd_); // or the library would read what nobody has looked at
        else if (!std::exchange(shut, true))
            ::shutdown(fd_, SHUT_RDWR);
        code = zookeeper_process(handle_,
                                 state == ZOO_CONNECTING_STATE ? ZOOKEEPER_WRITE : ZOOKEEPER_READ | ZOOKEEPER_WRITE);
    }
}

/// When a send fails, the library closes its socket and says nothing; on the next connection it would go on in the
/// middle of that request, and take the answers for those of others. A failed attempt to connect clears its queues: the
/// decoy's.
void wire::fail_unanswered()
{
    const auto left = [&] { return requests_.unanswered() != 0; };
    if (left() && !inbox_.discards() && phase_ == phase::none && zoo_state(handle_) == ZOO_NOTCONNECTED_STATE) {
        fd_ = socket_towards(*decoy_);
        if (fd_ != -1)
            cut(); // before it sends anything
    }
    if (left() || zoo_state(handle_) == ZOO_CONNECTING_STATE || zoo_state(handle_) == ZOO_ASSOCIATING_STATE)
        drop_handle(); // answers all that is left; the session goes on in the next handle
}

void wire::drop_handle()
{
    if (!handle_)
        return;
    zookeeper_close(std::exchange(handle_, nullptr));
    phase_ = phase::none;
    fd_ = -1;
    forget_to_cut();
}

void wire::forget_to_cut() noexcept
{
    must_cut_ = false;
    requests_.forget_doubt();
}

} // namespace zklock::bridge

// What a wire has the log say: how attempts end, connections, sessions; and the C client's own lines. That one calls
// whatever ends a connection an error, although the next attempt is on its way; what matters of it is in our lines.
#include "bridge/wire/result_codes.hpp"
#include "bridge/wire/wire.hpp"
#include "bridge/wire/wire_library.hpp"

#include <cerrno>
#include <charconv>
#include <utility>

namespace zklock::bridge {
namespace {

constexpr std::size_t most_failures = 16; // addresses

/// The part of a line between the first of these and the next of those.
std::string_view between(std::string_view line, std::string_view first, std::string_view next)
{
    const auto begin = line.find(first);
    if (begin == line.npos)
        return {};
    line.remove_prefix(begin + first.size());
    const auto end = line.find(next);
    return end == line.npos ? std::string_view() : line.substr(0, end);
}

} // namespace

void wire::keep_failure(std::string line)
{
    if (failures_.size() < most_failures || failures_.contains(address_))
        failures_[address_] = std::move(line);
}

void wire::log_connected(bool renewed, std::chrono::milliseconds granted_before)
{
    failures_.clear();
    connected_ = lease_clock::now();
    const store::session_name session{session_id_};
    if (renewed)
        log(log_level::info, "connected to ", address_, ": new session ", session, ", time-out ", granted_);
    else
        log(log_level::info, "connected to ", address_, ": session ", session, " goes on, time-out ", granted_,
            ", after ", connected_ - ended_, " without a connection");
    if (granted_ < options_.session_timeout && (renewed || granted_ != granted_before))
        log(log_level::warning, "the servers keep a session for ", granted_, " only, and not for ",
            options_.session_timeout, ", which were asked for");
}

/// The socket is gone, or about to be.
void wire::log_end(int state, bool was_associating)
{
    const std::string_view why = why_.empty() ? std::string_view("for a reason that is not known") : why_;
    if (epoch_open_) {
        ended_ = lease_clock::now();
        log(log_level::info, "the connection to ", address_, " has ended after ", ended_ - connected_, ": ", why);
    }
    if (state == ZOO_EXPIRED_SESSION_STATE)
        log(log_level::warning, "session ", store::session_name{session_id_}, " has expired, says ", address_,
            "; a new one will be opened");
    else if (was_associating && !epoch_open_ && !attempt_told_)
        attempt_failed(log_level::info, "cannot connect to ", address_, ": ", why);
}

/// Says once what the server has answered; when it goes on like that, at growing distances.
void wire::log_unusual(int code)
{
    if (code == ZOK || !log_.on(log_level::warning))
        return;
    const std::string words = words_for(code);
    if (words.empty())
        return;
    if (const auto left_out = unusual_.say(address_ + words, lease_clock::now()))
        log(log_level::warning, address_, " answers with ", words, store::times_left_out{*left_out});
}

void wire::credentials_refused(std::string_view how)
{
    if (std::exchange(refused_, true) || discards_)
        return;
    will_end("it refuses this client");
    attempt_failed(log_level::warning, address_, how);
    refusal_ = address_ + std::string(how);
}

void wire::log_question_answered()
{
    const store::session_name session{session_id_};
    if (answer_ == session_answer::unknown)
        log(log_level::info, address_, " hangs up on who has seen what this client has, and knows no session ",
            session);
    else if (answer_ == session_answer::taken_up)
        log(log_level::info, address_, " knows session ", session,
            asks_ == session_question::end ? ", and is told to end it" : " of a client that has seen nothing");
}

void wire::log_given_up()
{
    log(log_level::warning, "session ", store::session_name{session_id_}, " is over: the servers, ", address_,
        " the last of them, have not seen what this client has, and have no such session; they were set back, or are "
        "others. A new one will be opened");
}

/// "Socket [ADDRESS] zk retcode=-4, errno=111(Connection refused): server refused to accept the client"
void wire::note_reason(std::string_view line)
{
    if (!why_.empty() || !line.starts_with("Socket "))
        return;
    int error = 0;
    const std::string_view number = between(line, "errno=", "(");
    std::from_chars(number.data(), number.data() + number.size(), error);
    if (line.find("timed out (exceeded timeout") != line.npos)
        why_ = "nothing has come from the server for too long";
    else if (line.find("unexpected server response") != line.npos)
        why_ = "the server has answered out of order, at which the C client hangs up: with enableEagerACLCheck servers "
               "do so when they refuse a request before they have answered earlier ones";
    else if (error == EHOSTDOWN) // how the C client calls the end of the stream
        why_ = "the server has hung up";
    else if (const auto at = line.find("errno="); at != line.npos)
        why_ = between(line.substr(at), "(", ")");
    else
        why_ = line;
}

void callbacks::on_log(const char* message) noexcept
{
    if (wire* const to = wire::library_call::current)
        shielded(*to, [&] { on_line(*to, message); });
}

void callbacks::on_line(wire& to, std::string_view line)
{
    // "time:pid:ZOO_LEVEL@function@line: text"
    if (const auto mark = line.find(":ZOO_"); mark != line.npos) {
        line.remove_prefix(mark + 5);
        if (const auto text = line.find(": "); text != line.npos)
            line.remove_prefix(text + 2);
    }
    // Both tell of delays that are ours: connect() asks twice, and rests before that.
    if (line.starts_with("Delaying connection after") ||
        (line.starts_with("Exceeded deadline by") && !to.has_socket()))
        return;
    // It says what we have asked for ourselves, and where in memory its callbacks are.
    if (line.starts_with("Initiating client connection"))
        return;
    while (line.ends_with('\n'))
        line.remove_suffix(1);
    to.note_reason(line);
    // It knows no more of the server than the decoy.
    const std::string_view decoy = to.decoy_ ? to.decoy_->logged() : std::string_view();
    if (const auto at = decoy.empty() ? line.npos : line.find(decoy); at != line.npos)
        to.log(log_level::debug, "the C client says: ", line.substr(0, at), to.address_,
               line.substr(at + decoy.size()));
    else
        to.log(log_level::debug, "the C client says: ", line);
}

} // namespace zklock::bridge

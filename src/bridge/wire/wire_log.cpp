#include "bridge/wire/wire_log.hpp"
#include "bridge/wire/result_codes.hpp"

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

void wire_log::attempt_begins(const std::string& address)
{
    address_ = address;
    why_.clear();
    attempt_told_ = refused_ = false;
    (*this)(log_level::debug, "connecting to ", address);
}

void wire_log::keep_failure(std::string line)
{
    if (failures_.size() < most_failures || failures_.contains(address_))
        failures_[address_] = std::move(line);
}

void wire_log::refused(std::string_view how)
{
    if (std::exchange(refused_, true) || inbox_.discards())
        return;
    will_end("it refuses this client");
    attempt_failed(log_level::warning, address_, how);
    refusal_ = address_ + std::string(how);
}

void wire_log::refused_by_all() const
{
    (*this)(log_level::error, refusal_,
            ", and no other server that answers takes this client: it will not connect any "
            "more");
}

void wire_log::will_end(std::string_view why)
{
    if (why_.empty())
        why_ = why;
}

void wire_log::connected(std::int64_t id, bool renewed, std::chrono::milliseconds granted,
                         std::chrono::milliseconds before)
{
    failures_.clear();
    connected_ = lease_clock::now();
    const store::session_name session{id};
    if (renewed)
        (*this)(log_level::info, "connected to ", address_, ": new session ", session, ", time-out ", granted);
    else
        (*this)(log_level::info, "connected to ", address_, ": session ", session, " goes on, time-out ", granted,
                ", after ", connected_ - ended_, " without a connection");
    if (granted < options_.session_timeout && (renewed || granted != before))
        (*this)(log_level::warning, "the servers keep a session for ", granted, " only, and not for ",
                options_.session_timeout, ", which were asked for");
}

void wire_log::connection_ended()
{
    ended_ = lease_clock::now();
    (*this)(log_level::info, "the connection to ", address_, " has ended after ", ended_ - connected_, ": ", reason());
}

void wire_log::session_expired(std::int64_t session) const
{
    (*this)(log_level::warning, "session ", store::session_name{session}, " has expired, says ", address_,
            "; a new one will be opened");
}

void wire_log::session_given_up(std::int64_t session) const
{
    (*this)(log_level::warning, "session ", store::session_name{session}, " is over: the servers, ", address_,
            " the last of them, have not seen what this client has, and have no such session; they were set back, or "
            "are others. A new one will be opened");
}

void wire_log::question_answered(std::int64_t id, session_question asked, session_answer told) const
{
    const store::session_name session{id};
    if (told == session_answer::unknown)
        (*this)(log_level::info, address_,
                asked == session_question::session ? " hangs up on who has seen what this client has, and" : "",
                " knows no session ", session);
    else if (told == session_answer::taken_up)
        (*this)(log_level::info, address_, " knows session ", session,
                asked == session_question::end ? ", and is told to end it" : " of a client that has seen nothing");
}

void wire_log::answered(int code, store::outcome result)
{
    if (!log_.on(log_level::warning))
        return;
    const std::string words = words_for(code);
    if (words.empty())
        return;
    if (result == store::outcome::unknown)
        will_end("an answer has left open what became of a request, and this client has given it up");
    if (const auto left_out = unusual_.say(address_ + words, lease_clock::now()))
        (*this)(log_level::warning, address_, " answers with ", words, store::times_left_out{*left_out});
}

/// "Socket [ADDRESS] zk retcode=-4, errno=111(Connection refused): server refused to accept the client"
void wire_log::note_reason(std::string_view line)
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

void wire_log::c_client_says(std::string_view line, std::string_view decoy, bool has_socket)
{
    // "time:pid:ZOO_LEVEL@function@line: text"
    if (const auto mark = line.find(":ZOO_"); mark != line.npos) {
        line.remove_prefix(mark + 5);
        if (const auto text = line.find(": "); text != line.npos)
            line.remove_prefix(text + 2);
    }
    // Both tell of delays that are ours: connect() asks twice, and rests before that.
    if (line.starts_with("Delaying connection after") || (line.starts_with("Exceeded deadline by") && !has_socket))
        return;
    // It says what we have asked for ourselves, and where in memory its callbacks are.
    if (line.starts_with("Initiating client connection"))
        return;
    while (line.ends_with('\n'))
        line.remove_suffix(1);
    note_reason(line);
    if (const auto at = decoy.empty() ? line.npos : line.find(decoy); at != line.npos)
        (*this)(log_level::debug, "the C client says: ", line.substr(0, at), address_, line.substr(at + decoy.size()));
    else
        (*this)(log_level::debug, "the C client says: ", line);
}

} // namespace zklock::bridge

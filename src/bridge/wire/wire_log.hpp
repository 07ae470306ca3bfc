#pragma once
#include "bridge/wire/inbox.hpp"
#include "bridge/wire/session_question.hpp"
#include "store/logger.hpp"
#include "store/repeats.hpp"
#include "zklock/client_options.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace zklock::bridge {

/// What a wire has the log say of its attempts, connections and sessions, and when; and what of that is kept for those
/// who ask why there is no connection. The C client calls whatever ends a connection an error, although the next
/// attempt is on its way; what matters of its lines is in ours.
class wire_log {
public:
    wire_log(inbox& in, const client_options& options) : inbox_(in), options_(options) {}

    /// Puts a line where the caller's log function is called from, in its place among what else comes: never inside of
    /// the C client.
    template <class... Parts> void operator()(log_level level, const Parts&... parts) const
    {
        if (!inbox_.discards() && log_.on(level))
            inbox_.push(log_line{level, store::logger::line(parts...)});
    }

    [[nodiscard]] bool on(log_level level) const noexcept { return log_.on(level); }
    /// Gives a line of the inbox to the user's function.
    void write(const log_line& line) const noexcept { log_(line.level, line.text); }

    void attempt_begins(const std::string& address);
    /// The last attempt's.
    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    /// Logs why the attempt has failed, and keeps the line for failures().
    template <class... Parts> void attempt_failed(log_level level, const Parts&... parts);
    /// Nothing is to be said of that.
    void attempt_failed_as_before() noexcept { attempt_told_ = true; }
    [[nodiscard]] bool has_told_failure() const noexcept { return attempt_told_; }
    /// The server refuses this client: `how` goes on where its address ends.
    void refused(std::string_view how);
    /// The server of the last attempt refuses the credentials, or demands some. The session lives on: another may take
    /// them.
    [[nodiscard]] bool was_refused() const noexcept { return refused_; }
    /// So does every server that has answered since.
    void refused_by_all() const;
    /// How the last attempt to connect to each address has ended, since there was a connection.
    [[nodiscard]] const std::map<std::string, std::string>& failures() const noexcept { return failures_; }

    /// Why the connection, or the attempt, is about to end. The first reason counts.
    void will_end(std::string_view why);
    void forget_reason() noexcept { why_.clear(); }
    [[nodiscard]] std::string_view reason(std::string_view if_unknown = "for a reason that is not known") const noexcept
    {
        return why_.empty() ? if_unknown : why_;
    }

    /// `renewed`: the session is a new one. `before`: how long the servers kept the one before it.
    void connected(std::int64_t session, bool renewed, std::chrono::milliseconds granted,
                   std::chrono::milliseconds before);
    void connection_ended();
    void session_expired(std::int64_t session) const;
    void session_given_up(std::int64_t session) const;
    void question_answered(std::int64_t session, session_question, session_answer) const;
    /// The server has answered with that code: said once, if it should not have come. When it goes on like that, at
    /// growing distances. If it leaves open what became of the request, the connection ends.
    void answered(int code, store::outcome);

    /// A line of the C client, which knows no more of the server than a decoy, and calls that by this name.
    /// `has_socket`: it has one that leads to a server.
    void c_client_says(std::string_view line, std::string_view decoy, bool has_socket);

private:
    void keep_failure(std::string line);
    void note_reason(std::string_view line);

    inbox& inbox_;
    const client_options& options_;
    const store::logger log_{options_.log};
    std::string address_;
    std::map<std::string, std::string> failures_; // by address
    std::string why_;                             // the present connection has ended, or the attempt
    bool attempt_told_ = false;                   // that it has failed
    bool refused_ = false;
    std::string refusal_;                           // the last
    store::repeats_by_key unusual_;                 // what servers have answered
    lease_clock::time_point connected_{}, ended_{}; // the last connection
};

template <class... Parts> void wire_log::attempt_failed(log_level level, const Parts&... parts)
{
    attempt_told_ = true;
    if (inbox_.discards())
        return;
    (*this)(level, parts...);
    keep_failure(store::logger::line(parts...));
}

} // namespace zklock::bridge

#pragma once
#include "bridge/wire/session_question.hpp"

#include <cstdint>

namespace zklock::bridge {

/// Finds out whether the servers have lost the history that this client has seen: they were restored from a backup, or
/// begun anew. Such servers hang up without an answer on whoever has seen a later transaction than they have. So do
/// servers without a quorum, which the session outlives, however long that takes. So no time that passes is a proof:
/// once the session should be over, an address that has hung up is asked at once whether it knows the session. That is
/// pure, as the connector is; both are asked about each attempt.
///
/// - *It does not know the session*: that is a vote. The session is over once more than half of the servers have voted
///   in one cycle; one alone may be a stray member that serves by itself. (Where the handle had to be given up, the new
///   one has seen nothing, and such a member is believed as any other.)
/// - *It knows the session*: the quorum may have come back since it hung up. So it is asked for service again, and for
///   the session again. If it goes on like that, it has an earlier history, with nodes that this client has deleted
///   since: that is a vote, too, and where it decides, the session is ended there. Then the server is asked again,
///   until it knows it no more.
class history_check {
public:
    enum class verdict : std::uint8_t {
        failed, ///< the attempt has, as any other
        voted,  ///< the same, and so has the server
        ask,    ///< the same address, at once, what asks() says then
        over    ///< so is the session
    };

    /// What is asked of the present address.
    [[nodiscard]] session_question asks() const noexcept { return asks_; }

    /// The session is to be ended, because the servers were set back: whoever uses it has found that out. Until it is
    /// over, nobody is asked for service. Each server that does not know it has a vote here, too: a stray member would
    /// have releases told while the session lives elsewhere. Once the session should be over, one is enough.
    void end_session() noexcept { ends_ = true; }
    [[nodiscard]] bool ends() const noexcept { return ends_; }
    void session_is_over() noexcept { ends_ = false; }

    void attempt_begins() noexcept;
    /// `believed`: who was asked would be, if it said that the session is over. `overdue`: it should be. `decides`:
    /// with its vote, more than half of the servers would have voted in this cycle.
    [[nodiscard]] verdict answered(session_answer, bool believed, bool overdue, bool decides) noexcept;

private:
    [[nodiscard]] verdict told_to_end(session_answer, bool decides) noexcept;
    [[nodiscard]] verdict ask(session_question) noexcept;

    session_question asks_ = session_question::service;
    bool ends_ = false; ///< the session is to be ended
    int taken_up_ = 0;  ///< so often in this attempt by those who asked for the session
};

} // namespace zklock::bridge

#pragma once
#include "bridge/wire/session_question.hpp"

#include <cstddef>
#include <cstdint>

namespace zklock::bridge {

/// Finds out whether the servers have lost the history that this client has seen: they were restored from a backup, or
/// begun anew. Such servers hang up without an answer on whoever has seen a later transaction than they have. So do
/// servers without a quorum, which the session outlives, however long that takes. So no time that passes is a proof:
/// once the session should be over, an address that has hung up is asked at once whether it knows the session. That is
/// pure, as the connector is; both are asked about each attempt.
///
/// - *It does not know the session*: that is a vote. The session is over once more than half of the addresses have
///   voted in one cycle; one alone may be a stray member that serves by itself. (Where the handle had to be given up,
///   the new one has seen nothing, and such a member is believed as any other.)
/// - *It knows the session*: the quorum may have come back since it hung up. So it is asked for service again, and for
///   the session again. If it goes on like that, it has an earlier history, with nodes that this client has deleted
///   since: that is a vote, too, and where it decides, the session is ended there. Then the server is asked again,
///   until it knows it no more.
class history_check {
public:
    enum class verdict : std::uint8_t {
        failed, ///< the attempt has, as any other
        ask,    ///< the same address, at once, what asks() says then
        over    ///< so is the session
    };

    /// What is asked of the present address.
    [[nodiscard]] session_question asks() const noexcept { return asks_; }

    /// The session is to be ended, because the servers were set back: whoever uses it has found that out. Until it is
    /// over, nobody is asked for service. Each address that does not know it has a vote here, too: a stray member would
    /// have releases told while the session lives elsewhere. Once the session should be over, one is enough.
    void end_session() noexcept { ends_ = true; }
    [[nodiscard]] bool ends() const noexcept { return ends_; }
    void session_is_over() noexcept { ends_ = false; }

    /// All addresses are tried once more; or there is a connection, whose end begins all anew.
    void cycle_begins() noexcept { votes_ = 0; }
    void attempt_begins() noexcept;
    /// `believed`: who was asked would be, if it said that the session is over. `overdue`: it should be. `addresses`:
    /// so many are tried in this cycle.
    [[nodiscard]] verdict answered(session_answer, bool believed, bool overdue, std::size_t addresses) noexcept;

private:
    [[nodiscard]] verdict told_to_end(session_answer, bool overdue, std::size_t addresses) noexcept;
    [[nodiscard]] verdict ask(session_question) noexcept;
    [[nodiscard]] verdict vote(std::size_t addresses) noexcept;
    [[nodiscard]] bool decides(std::size_t addresses) const noexcept { return 2 * (votes_ + 1) > addresses; }

    session_question asks_ = session_question::service;
    std::size_t votes_ = 0; ///< in this cycle
    bool ends_ = false;     ///< the session is to be ended
    int taken_up_ = 0;      ///< so often in this attempt by those who asked for the session
};

} // namespace zklock::bridge

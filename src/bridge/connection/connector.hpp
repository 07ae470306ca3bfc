#pragma once
#include "bridge/connection/connect_cycle.hpp"
#include "bridge/connection/connect_pauses.hpp"
#include "bridge/names/server_address.hpp"
#include "bridge/wire/session_question.hpp"
#include "zklock/events.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace zklock::bridge {

/// Decides when a client connects and to which server, how long an attempt may last, how long to pause between two, and
/// how long closing may take. It is pure: it is told what has happened and what time it is, and answers with the next
/// step; the connection takes that step. (Boost.Redis's `run_fsm` and Boost.MySQL's `sansio_connection_node` are the
/// models.)
///
/// A *cycle* tries each known address once, in an order drawn by chance. Then the connector pauses, for a time that
/// doubles with each cycle that fails, and with each connection that is lost before it has *proved* itself: it has when
/// a sync or a write was answered a quarter of the time-out after its attempt began, or later. (A server that takes the
/// session and then hangs up, say at a request that is too long for it, answers a sync each time before.) The first
/// connection that is lost since one has proved itself is made again at once: that keeps locks.
///
/// Where a name leads may change, and another ensemble may live where one of ours was. So names are asked again when a
/// connection has ended. *Confirmed* is an address in the list itself, or in the last answer of a name that was asked
/// since then. The others may take the session up again, and no more: it is neither believed there that it is over, nor
/// is a new one begun. (If a name cannot be asked, its last addresses are confirmed once the session should be over.)
class connector {
public:
    using clock = std::chrono::steady_clock;

    /// What time it is. Sessions run out by a clock that goes on while the machine sleeps, as the servers' do.
    /// Attempts, pauses and questions have their time while it is awake: nobody could have answered before.
    struct moment {
        clock::time_point awake;
        lease_clock::time_point lease;

        [[nodiscard]] static moment now() noexcept { return {clock::now(), lease_clock::now()}; }
    };

    struct settings {
        std::chrono::milliseconds session_timeout; ///< as asked for
        std::chrono::milliseconds backoff;         ///< after the first cycle that fails, at most
        std::chrono::milliseconds backoff_limit;
        bool has_names = false; ///< the list has host names
        // What a lease counts beside the time-out.
        std::chrono::milliseconds server_tick{0};
        std::optional<std::chrono::milliseconds> lease_margin{}; ///< other than a quarter of it, and a tick at least
    };

    enum class phase : std::uint8_t {
        pausing,    ///< until the next attempt
        resolving,  ///< the names; for a moment only, if an address is known
        connecting, ///< the attempt is limited in time
        connected,
        flushing, ///< closing: until everything has left, and something to read has come
        draining, ///< closing: the session is over, the server still has to hang up
        closed
    };

    enum class step : std::uint8_t {
        wait,        ///< until due(), or until something happens
        resolve,     ///< begin to look up the servers' names, and tell names_known() at once and with each answer
        attempt,     ///< connect to address(), and tell opened() or lost()
        end_attempt, ///< and tell lost()
        leave,       ///< the same, because no name leads there any more
        finish       ///< end the closing now, and tell finished()
    };

    /// What is known of the servers' addresses.
    struct names {
        std::vector<address_ptr> addresses; ///< in the list, and in the last answers
        bool answers_due = false;           ///< names that were asked for last are still being looked up
        bool complete = true;               ///< no name is being looked up, however long ago it was asked for
    };

    using loss = bridge::loss;

    connector(const settings&, std::minstd_rand::result_type seed, clock::time_point now);

    [[nodiscard]] phase now_in() const noexcept { return phase_; }
    [[nodiscard]] bool attempting_or_connected() const noexcept
    {
        return phase_ == phase::connecting || phase_ == phase::connected;
    }
    /// When time_passed() has something to say, unless something happens before; nothing while connected or closed.
    [[nodiscard]] std::optional<clock::time_point> due() const;
    /// The address of the present or next attempt. There is one once an attempt was asked for.
    [[nodiscard]] const server_address& address() const { return *cycle_.present(); }
    /// One of the names by which the user calls that address: the server's certificate has to be for it.
    [[nodiscard]] const host_port& name() const { return cycle_.name(); }
    /// The server of the present attempt is not the one of that name(). True if it may be that of the name() now, which
    /// is to be tried in the same attempt; false if all were tried.
    [[nodiscard]] bool try_next_name() noexcept { return cycle_.try_next_name(); }
    /// The server of the present attempt, whose time is over, has not answered to name(). Perhaps it waits for another:
    /// the next attempt begins with that.
    void name_unanswered() noexcept { cycle_.skip_name(); }
    /// The server of the present attempt has said that the servers were set back: a vote for that, in this cycle.
    void count_vote() { cycle_.count_vote(); }
    /// With its vote, more than half of the servers have voted.
    [[nodiscard]] bool vote_decides() const { return cycle_.vote_decides(); }
    /// There is a session to take up, and it should be over: since its connection ended, as much time has passed as it
    /// was ever granted, and what a lease counts beside that. (Until then the servers may have heard of it.)
    [[nodiscard]] bool session_is_overdue(lease_clock::time_point now) const noexcept
    {
        return has_session_ && phase_ != phase::connected && now >= session_ends_ + beyond_the_session();
    }
    /// A whole cycle has failed, and the next has not begun.
    [[nodiscard]] bool all_failed() const noexcept { return phase_ == phase::pausing && cycle_.all_tried(); }
    /// How long ago the last connection was lost, or this was made if there has been none. Time during which the
    /// machine sleeps does not count.
    [[nodiscard]] clock::duration unconnected_for(clock::time_point now) const noexcept
    {
        return now - unconnected_since_;
    }
    /// A whole cycle has failed, and there has been no connection for so long that users should hear of it: servers
    /// that are started again, or elect a leader, refuse for a while, too.
    [[nodiscard]] bool is_cut_off(clock::time_point now) const noexcept
    {
        return all_failed() && unconnected_for(now) >= session_timeout_ / 3;
    }
    /// The last cycle has failed, with each address by TLS; and so has all of the present one, as far as it has come.
    [[nodiscard]] bool all_insecure() const noexcept { return all_insecure_; }
    /// The present connection, or the last, has proved itself.
    [[nodiscard]] bool proved() const noexcept { return proved_; }
    /// How many connections were lost since one has proved itself.
    [[nodiscard]] unsigned lost_unproved() const noexcept { return lost_unproved_; }
    /// They are more than one.
    [[nodiscard]] bool keeps_losing() const noexcept { return lost_unproved_ > 1; }
    /// The server of the last of these, if there is one.
    [[nodiscard]] const address_ptr& last_lost_unproved() const noexcept { return last_lost_unproved_; }
    /// How long ago the last connection that had proved itself was lost, or this was made if there has been none.
    [[nodiscard]] clock::duration unserved_for(clock::time_point now) const noexcept { return now - unserved_since_; }
    /// True, once, if the present cycle, or the pause because no address is known, began before all names were looked
    /// up.
    [[nodiscard]] bool take_names_missing() noexcept { return std::exchange(names_missing_, false); }
    /// When the last connection was lost; the beginning of time, if there has been none.
    [[nodiscard]] clock::time_point last_loss() const noexcept { return lost_at_; }
    /// Whether the server of the present attempt is believed when it says that the session is over.
    [[nodiscard]] bool believes_expiry(moment) noexcept;
    /// True, once in the time without a connection, if an address counts as confirmed because no name that led there
    /// can be asked.
    [[nodiscard]] bool take_unanswered() noexcept;

    [[nodiscard]] step begin(moment);
    [[nodiscard]] step names_known(names, moment);
    /// The present attempt ends by then, if it does not end sooner.
    void attempt_ends_by(clock::time_point latest) noexcept { due_ = std::min(due_, latest); }
    /// The attempt has brought a session, which the servers keep for `granted` without a connection.
    void opened(clock::duration granted);
    /// A sync or a write was answered, and well, over the present connection.
    void served(clock::time_point now) noexcept;
    [[nodiscard]] step lost(loss, moment);
    [[nodiscard]] step time_passed(moment);

    /// From now on nothing is connected. A connection that is there has a moment for its farewell.
    [[nodiscard]] step close(clock::time_point now);
    /// The session was ended: the server has a moment to hang up.
    void hung_up(clock::time_point now);
    void finished() noexcept { phase_ = phase::closed; }

private:
    [[nodiscard]] step resolve(moment);
    [[nodiscard]] step try_known(moment);
    [[nodiscard]] step attempt(moment);
    void attempt_failed(bool by_tls, moment);
    void join_cycle(const address_ptr& address, moment);
    void forget_unusable(moment);
    void note_unanswered(moment) noexcept;
    [[nodiscard]] bool is_confirmed(const server_address&, moment) const;
    [[nodiscard]] bool is_usable(const server_address&, moment) const;
    [[nodiscard]] bool is_unanswered(const server_address&, moment) const;
    void reconnect(loss, moment);
    [[nodiscard]] clock::duration attempt_limit() const;
    [[nodiscard]] clock::duration next_pause(moment);
    [[nodiscard]] clock::duration beyond_the_session() const noexcept;

    const clock::duration session_timeout_;
    const bool has_names_;
    const clock::duration server_tick_;
    const std::optional<clock::duration> lease_margin_;
    std::minstd_rand random_;

    phase phase_ = phase::pausing;
    clock::time_point due_{};
    names known_;
    bool names_missing_ = false;
    enum class unanswered : std::uint8_t { no, yes, told } unanswered_ = unanswered::no;

    connect_cycle cycle_; ///< of the addresses that are usable
    bool all_insecure_ = false;
    clock::time_point last_attempt_{};
    clock::time_point unconnected_since_;                  ///< as long as it is not connected
    clock::time_point lost_at_ = clock::time_point::min(); ///< the last connection
    bool silence_ = false;                                 ///< an attempt of this cycle was not answered in its time
    unsigned silent_cycles_ = 0;

    // Since a connection has proved itself.
    connect_pauses pauses_;
    bool has_retried_ = false; ///< at once, after a connection was lost
    bool has_renewed_ = false; ///< asked at once for a new session
    unsigned lost_unproved_ = 0;
    address_ptr last_lost_unproved_;

    bool proved_ = false;
    clock::time_point unserved_since_; ///< as long as no connection has proved itself

    clock::duration granted_{};              ///< the session's time-out
    clock::duration first_granted_{};        ///< when it began: a leader that takes over knows of no other
    bool has_session_ = false;               ///< to be taken up again
    lease_clock::time_point session_ends_{}; ///< at the latest, by the servers' clocks, if it is not taken up again
};

} // namespace zklock::bridge

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "zklock/acquirable.hpp"
#include "zklock/client.hpp"
#include "zklock/detail/access.hpp"
#include "zklock/detail/operations.hpp"
#include "zklock/detail/run.hpp"
#include "zklock/detail/saturate.hpp"
#include "zklock/events.hpp"
#include "zklock/guard.hpp"
#include "zklock/lock_options.hpp"
#include "zklock/result.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace zklock {

/// One term as the leader: what `election::lead()` gives its body. All that is said of `guard` holds for it, too. The
/// fencing token is larger for each term of a path than for all before it, of any leader: what a leader writes should
/// carry it, and be refused where a larger one has been seen. `wait_revoked()` waits until somebody asks the leader to
/// step down. The body may end its term before it returns: it releases this, then.
class [[nodiscard]] leadership : public guard {
public:
    /// An empty one, which is no leadership.
    leadership() noexcept = default;

    /// Whether `election::resign()` was called since this participant stood for election. From any thread.
    [[nodiscard]] bool resigning() const noexcept { return candidacy_ && detail::has_resigned(candidacy_); }

private:
    friend class detail::access;
    leadership(guard held, std::shared_ptr<detail::candidacy> candidacy)
        : guard(std::move(held)), candidacy_(std::move(candidacy))
    {
    }

    std::shared_ptr<detail::candidacy> candidacy_;
};

namespace detail {

/// The body of a leader stops for the resignation, too.
template <> struct when_to_stop<leadership> {
    static void watch(leadership& held, const std::weak_ptr<run_control>& body)
    {
        at_resignation(access::candidacy(held),
                       [body] { cancel_body(body, run_control::cause::other, asio::cancellation_type::terminal); });
        when_to_stop<guard>::watch(held, body);
    }
};

template <class Body>
asio::awaitable<result<body_value_t<Body, leadership>>> lead(std::shared_ptr<candidacy> standing, bool requeue,
                                                             std::optional<lease_clock::duration> timeout, Body body)
{
    using outcome = result<body_value_t<Body, leadership>>;
    std::optional<outcome> last;
    const error_code aborted = asio::error::operation_aborted;
    for (;;) {
        default_token token;
        auto stand = waiting<guard>(lock_of(standing), timeout);
        result<guard> elected =
            co_await asio::async_initiate<default_token, void(error_code, guard)>(std::move(stand), token);
        const auto cancelled = co_await asio::this_coro::cancellation_state;
        if (cancelled.cancelled() != asio::cancellation_type::none)
            co_return aborted; // if it was elected, the guard gives it back
        if (!elected) {
            if (last && last->has_value() && elected.error() == aborted) // resigned between two terms
                break;
            co_return elected.error();
        }

        auto term = access::make<leadership>(std::move(elected).value(), standing);
        std::exception_ptr thrown;
        try {
            auto leading = run_holding(std::move(term), body);
            last.emplace(co_await std::move(leading));
        } catch (...) {
            thrown = std::current_exception();
        }
        if (thrown && has_resigned(standing) && was_aborted(thrown)) { // asked to stop, it did
            last.emplace(aborted);
            break;
        }
        if (thrown)
            std::rethrow_exception(thrown);
        const bool goes_on = requeue && (last->has_value() || last->error() == errc::lost);
        const auto after = co_await asio::this_coro::cancellation_state;
        if (!goes_on || after.cancelled() != asio::cancellation_type::none)
            break;
    }
    co_return std::move(*last);
}

} // namespace detail

/// One participant of an election: among all who stand on a path, one leads at a time. The leader holds the lock of
/// that path: the nodes are those of a `mutex`, and so of Curator's `LeaderSelector` and (with `naming::kazoo`) kazoo's
/// `Election`, whose programs can take part on the same path; for others there are `mark` and `also_heeds` of
/// `mutex_options`. The first to come is the first to be elected.
///
/// Copies of an election are the same participant, an object made anew is another one. `is_held()` is whether this
/// participant leads; `contenders()` lists who stands, the leader first, in the order in which they will lead;
/// `revoke_holders()` asks the leader to step down, who learns of it by `leadership::wait_revoked()`: no body is
/// cancelled for it. What `last_timeout()` tells is of the last `lead()` that ended at its deadline.
class election : public queued_lock {
public:
    /// Sends nothing: each operation tells of bad input. The client stays open as long as a handle of the election is
    /// there. Throws std::bad_alloc.
    election(const client& c, std::string path, election_options options = {});

    /// Stands for election, and runs `body` while this participant leads. Coroutines only.
    ///
    ///     auto reign = [&](zklock::leadership& term) -> asio::awaitable<void> { … };
    ///     zklock::result<void> led = co_await chair.lead(reign);
    ///
    /// @param body Called with `leadership&`; what it may be is told at `acquirable::run()`. It is cancelled (terminal)
    /// when the leadership is lost, and when `resign()` is called. The leadership is given up however the body ends.
    ///
    /// With `election_options::requeue` the participant stands again, behind all who wait, when the body has returned a
    /// value or the leadership was lost; the body is then run once for each term, each with a larger token. An error or
    /// an exception of the body ends the call.
    ///
    /// Several calls at once are several candidates of this participant.
    ///
    /// @returns `awaitable<result<T>>`:
    /// - what the body gave, in the last term if there were several;
    /// - `errc::lost` when the leadership was lost before that term's body was done and the leadership given up, as far
    ///   as `guard::release()` can say;
    /// - `asio::error::operation_aborted` when the participant resigned before any term, or after one that was lost, or
    ///   the body stopped with that because of the resignation;
    /// - an error of `acquirable::acquire()`.
    ///
    /// @par Cancellation It is passed on as `acquirable::run()` tells.
    template <class Body> [[nodiscard]] auto lead(Body&& body) const
    {
        return detail::lead<detail::body_of<Body, leadership>>(detail::stand_for(state()), requeue_, std::nullopt,
                                                               std::forward<Body>(body));
    }

    /// Stands for election like `lead(body)`, but ends with one of `condition::not_in_time` when this participant has
    /// waited that long for a term, as `acquirable::acquire(timeout)` does. The limit counts anew for each term.
    /// Cancellation is passed on as `acquirable::run()` tells.
    template <class Rep, class Period, class Body>
    [[nodiscard]] auto lead(std::chrono::duration<Rep, Period> timeout, Body&& body) const
    {
        return detail::lead<detail::body_of<Body, leadership>>(detail::stand_for(state()), requeue_,
                                                               detail::saturate(timeout), std::forward<Body>(body));
    }

    /// Withdraws this participant. Every `lead()` under way ends: one that waits ends at once; one that leads has its
    /// body cancelled, and ends as soon as the body has returned. Later calls of `lead()` stand again.
    ///
    /// @par Completion `void(error_code)`
    /// - success: this participant does not lead any more: the bodies have returned and their leadership is given up.
    ///   If it did not lead, that is so at once.
    /// - `errc::closed`, `asio::error::operation_aborted` (cancelled).
    ///
    /// @par Cancellation Terminal, partial and total only stop the waiting.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto resign(Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_resign>(token, state());
    }

    /// Waits until this participant leads. To stand for election takes a `lead()`: this does not.
    ///
    /// @par Completion `void(error_code)`
    /// - success: it leads, or did a moment ago.
    /// - `asio::error::operation_aborted`: it resigned, or this was cancelled. `errc::closed`.
    ///
    /// @par Cancellation Terminal, partial and total end the wait, and nothing else.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token = default_token>
    [[nodiscard]] auto wait_for_leadership(Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_wait_for_leadership>(token, state());
    }

    /// Reads who leads: the first of `contenders()`, if there is any. It takes two requests, however many stand, and
    /// one more for each that resigns meanwhile.
    ///
    /// @par Completion `void(error_code, std::optional<contender>)`. Errors and cancellation are those of
    /// `contenders()`.
    template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::optional<contender>)) Token = default_token>
    [[nodiscard]] auto leader(Token&& token = Token()) const
    {
        return detail::begin<Token, detail::start_leader>(token, state());
    }

private:
    bool requeue_;
};

} // namespace zklock

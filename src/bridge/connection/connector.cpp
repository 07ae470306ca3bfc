#include "bridge/connection/connector.hpp"

namespace zklock::bridge {
namespace {

constexpr std::chrono::milliseconds shortest_attempt{500};
// However long the session is: the user hears soon of a server that is silent.
constexpr std::chrono::seconds longest_first_attempt{10};
// It is longer than a resolver that works takes: so a cycle begins with all servers, in any order. Servers of which it
// does not know by then join it later.
constexpr std::chrono::milliseconds time_for_names{200};
// A name of which nothing is heard for so long cannot be asked.
constexpr std::chrono::seconds time_for_an_answer{2};
// It is longer than a round trip anywhere; after that the session is left to its time-out.
constexpr std::chrono::seconds time_for_a_farewell{1};

} // namespace

connector::connector(const settings& s, std::minstd_rand::result_type seed, clock::time_point now)
    : session_timeout_(s.session_timeout), has_names_(s.has_names), server_tick_(s.server_tick),
      lease_margin_(s.lease_margin), random_(seed), unconnected_since_(now), pauses_(s.backoff, s.backoff_limit),
      unserved_since_(now)
{
}

auto connector::due() const -> std::optional<clock::time_point>
{
    if (phase_ == phase::connected || phase_ == phase::closed)
        return std::nullopt;
    return due_;
}

bool connector::take_unanswered() noexcept
{
    if (unanswered_ != unanswered::yes)
        return false;
    unanswered_ = unanswered::told;
    return true;
}

// ---- names

auto connector::begin(moment now) -> step
{
    return phase_ == phase::pausing ? resolve(now) : step::wait;
}

auto connector::resolve(moment now) -> step
{
    phase_ = phase::resolving;
    due_ = now.awake + time_for_names;
    return step::resolve;
}

/// An address that is known too late for the beginning of a cycle is still tried in it.
auto connector::names_known(names known, moment now) -> step
{
    known_ = std::move(known);
    if (phase_ == phase::resolving)
        return known_.answers_due ? step::wait : try_known(now);
    if (phase_ != phase::pausing && phase_ != phase::connecting && phase_ != phase::connected)
        return step::wait;
    for (const auto& address : known_.addresses)
        join_cycle(address, now);
    forget_unusable(now);
    if (phase_ != phase::connecting)
        return step::wait;
    note_unanswered(now); // another name may have led there
    return is_usable(address(), now) ? step::wait : step::leave;
}

/// The system's resolver may take minutes for a name. Meanwhile the servers whose addresses are known get their chance,
/// and the names that have failed are asked for again, after a pause.
auto connector::try_known(moment now) -> step
{
    names_missing_ = names_missing_ || !known_.complete;
    cycle_.begin(
        known_.addresses, [&](const server_address& each) { return is_usable(each, now); }, random_);
    if (!cycle_.empty())
        return attempt(now);
    attempt_failed(false, now);
    return step::wait;
}

bool connector::is_unanswered(const server_address& address, moment now) const
{
    return address.asked < lost_at_ && address.unanswered_since &&
           now.awake >= *address.unanswered_since + time_for_an_answer &&
           (!has_session_ || session_is_overdue(now.lease));
}

bool connector::is_confirmed(const server_address& address, moment now) const
{
    const auto named = find_same(known_.addresses, address);
    return named != known_.addresses.end() && ((*named)->asked >= lost_at_ || is_unanswered(**named, now));
}

/// Where no name leads to any address, those that were known may still take the session up.
bool connector::is_usable(const server_address& address, moment now) const
{
    if (!has_session_)
        return is_confirmed(address, now);
    return known_.addresses.empty() || find_same(known_.addresses, address) != known_.addresses.end();
}

bool connector::believes_expiry(moment now) noexcept
{
    note_unanswered(now);
    return is_confirmed(address(), now);
}

void connector::note_unanswered(moment now) noexcept
{
    const auto named = find_same(known_.addresses, address());
    if (unanswered_ == unanswered::no && named != known_.addresses.end() && is_unanswered(**named, now))
        unanswered_ = unanswered::yes;
}

void connector::join_cycle(const address_ptr& address, moment now)
{
    const bool all_tried = cycle_.all_tried();
    const bool joined = cycle_.join(address, is_usable(*address, now), is_confirmed(*address, now));
    if (joined && phase_ == phase::pausing && all_tried)
        due_ = now.awake;
}

void connector::forget_unusable(moment now)
{
    cycle_.keep_if([&](const server_address& each) { return is_usable(each, now); });
}

auto connector::attempt(moment now) -> step
{
    phase_ = phase::connecting;
    cycle_.attempt_begins();
    last_attempt_ = now.awake;
    due_ = now.awake + attempt_limit();
    note_unanswered(now);
    return step::attempt;
}

/// A server that swallows everything must not cost the session: the others get their chance in the third of the
/// time-out that is left when a dead connection is noticed. If nobody answers, each cycle is more patient.
auto connector::attempt_limit() const -> clock::duration
{
    const clock::duration longest = session_timeout_ * 2 / 3;
    const auto servers = static_cast<int>(std::max<std::size_t>(cycle_.size(), 1));
    const auto first =
        std::clamp<clock::duration>(session_timeout_ / (3 * servers), shortest_attempt, longest_first_attempt);
    return std::min(longest, first * (1 << std::min(silent_cycles_, 8u)));
}

void connector::opened(clock::duration granted)
{
    phase_ = phase::connected;
    if (!std::exchange(has_session_, true))
        first_granted_ = granted;
    unanswered_ = unanswered::no;
    cycle_.forget_what_was_said();
    granted_ = granted;
    all_insecure_ = false;
    proved_ = false;
}

void connector::served(clock::time_point now) noexcept
{
    if (proved_ || phase_ != phase::connected || now - last_attempt_ < granted_ / 4)
        return;
    proved_ = true;
    pauses_.begin_anew();
    has_retried_ = has_renewed_ = false;
    lost_unproved_ = 0;
    last_lost_unproved_.reset();
}

auto connector::lost(loss what, moment now) -> step
{
    if (!attempting_or_connected())
        return step::wait;
    const bool was_connected = phase_ == phase::connected;
    const bool was_confirmed = is_confirmed(address(), now);
    if (was_connected) {
        unconnected_since_ = lost_at_ = now.awake;
        session_ends_ = now.lease + std::max(granted_, first_granted_);
        if (proved_) {
            unserved_since_ = now.awake;
        } else {
            ++lost_unproved_;
            last_lost_unproved_ = cycle_.present();
        }
    }
    switch (what) {
    case loss::credentials:
        if (was_confirmed)
            cycle_.count_refusal();
        attempt_failed(false, now);
        break;
    case loss::session:
        session_ends_ = {};
        granted_ = {};
        has_session_ = false;
        reconnect(what, now);
        break;
    case loss::disbelieved:
        cycle_.disbelieve();
        attempt_failed(false, now);
        break;
    case loss::connection:
    case loss::security:
        if (was_connected) {
            reconnect(what, now);
        } else {
            silence_ = silence_ || now.awake >= due_;
            attempt_failed(what == loss::security, now);
        }
        break;
    }
    return was_connected && has_names_ && phase_ == phase::pausing ? step::resolve : step::wait;
}

void connector::attempt_failed(bool by_tls, moment now)
{
    phase_ = phase::pausing;
    if (by_tls)
        cycle_.count_insecure();
    cycle_.go_on();
    forget_unusable(now);
    all_insecure_ = all_insecure_ && by_tls;
    if (!cycle_.all_tried()) {
        due_ = now.awake;
        return;
    }
    if (cycle_.all_refused() && known_.complete) { // another that answers has voted, or would have ended the cycle
        phase_ = phase::closed;
        return;
    }
    all_insecure_ = cycle_.all_insecure();
    silent_cycles_ += std::exchange(silence_, false); // a refusal comes at once, and needs no patience
    due_ = now.awake + next_pause(now);
}

/// A server did answer. The next attempt comes at once; but if that was so before, and no connection has proved itself
/// since, after a pause.
void connector::reconnect(loss what, moment now)
{
    phase_ = phase::pausing;
    what == loss::session ? cycle_.repeat() : cycle_.go_on();
    cycle_.begin_again();
    forget_unusable(now);
    all_insecure_ = false;
    silent_cycles_ = 0;
    silence_ = false;
    bool& done_before = what == loss::session ? has_renewed_ : has_retried_;
    due_ = std::exchange(done_before, true) ? now.awake + next_pause(now) : now.awake;
}

/// While the session may live, what it holds depends on how soon the client finds out that the servers are back: so a
/// pause is an eighth of its time-out at most, in which 17 connects can come then. The servers may see it live longer
/// than the client knows: those that are started again give each session the whole of its time once more.
auto connector::next_pause(moment now) -> clock::duration
{
    const bool may_live = now.lease < session_ends_ + granted_;
    return pauses_.next(may_live ? granted_ / 8 : clock::duration::max(), random_);
}

auto connector::beyond_the_session() const noexcept -> clock::duration
{
    return lease_margin_.value_or(std::max(granted_ / 4, server_tick_)) + server_tick_;
}

auto connector::time_passed(moment now) -> step
{
    if (now.awake < due_)
        return step::wait;
    switch (phase_) {
    case phase::pausing: return cycle_.all_tried() ? resolve(now) : attempt(now);
    case phase::resolving: return try_known(now);
    case phase::connecting: return step::end_attempt;
    case phase::flushing:
    case phase::draining: return step::finish;
    case phase::connected:
    case phase::closed: break;
    }
    return step::wait;
}

// ---- closing

auto connector::close(clock::time_point now) -> step
{
    const bool was_connected = phase_ == phase::connected;
    phase_ = phase::flushing;
    due_ = now + time_for_a_farewell;
    return was_connected ? step::wait : step::finish;
}

void connector::hung_up(clock::time_point now)
{
    phase_ = phase::draining;
    due_ = now + time_for_a_farewell;
}

} // namespace zklock::bridge

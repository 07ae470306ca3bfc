#include "recipes/session/epoch_checks.hpp"

#include "recipes/session/session.hpp"

#include <algorithm>

namespace zklock::recipes {

void epoch_checks::session_began(time_point before_is_over) noexcept
{
    chroot_due_ = !session_.options.chroot.empty();
    before_is_over_ = before_is_over;
}

void epoch_checks::begin(const store::connect_reply& answer)
{
    may_lag_ = !answer.renewed && (may_lag_ || answer.may_lag || session_.own_writes().known_by_event());
    const bool waits = chroot_due_ && chroot_;
    if (chroot_due_)
        look_at_chroot();
    if (!waits)
        go_on();
}

/// What the first session finds is only taken note of.
void epoch_checks::look_at_chroot()
{
    session_.store.exists("/", false, [this, begins = chroot_.has_value()](const store::stat_reply& seen) {
        if (seen.result == store::outcome::unknown)
            return; // to be looked at on the next connection
        chroot_due_ = false;
        judge_chroot(seen);
        if (begins && !session_.over())
            go_on();
    });
}

void epoch_checks::judge_chroot(const store::stat_reply& seen)
{
    const mark is{seen.stat.czxid, seen.stat.created};
    const bool shown = seen.result == store::outcome::ok || seen.result == store::outcome::no_node;
    const bool another = shown && chroot_ && *chroot_ != is;
    if (shown)
        chroot_ = is;
    if (!another)
        return;
    not_before_ = std::max(not_before_, before_is_over_);
    session_.log(log_level::warning, "the node of the chroot ", session_.options.chroot,
                 " is another than in the session before: the names of the servers have led to another ensemble, or it "
                 "was made meanwhile; nothing is done for ",
                 std::max(not_before_ - session_.scheduler.now(), lease_clock::duration::zero()),
                 ", until the session before should be over");
}

void epoch_checks::go_on()
{
    if (session_.scheduler.now() < not_before_)
        wait_.plan(not_before_, [this] { catch_up_first(); });
    else if (may_lag_)
        catch_up_first();
    else
        compare({});
}

/// A server that lags would show nodes of ours as gone. So nobody hears of the epoch before it has caught up. It does
/// so by a transaction that writes nothing: even one that is refused is agreed on by a majority. A sync may be answered
/// by a leader that others have replaced, and that does not know it yet.
void epoch_checks::catch_up_first()
{
    const store::batch_write nothing{.path = "/"};
    const auto answered = [this](const store::reply& answer) {
        if (session_.over() || answer.result == store::outcome::unknown)
            return; // all is over, or the end of the epoch is on its way
        may_lag_ = false;
        compare(answer);
    };
    session_.store.batch({&nothing, 1}, answered);
}

/// Servers that were set back may show nodes of ours as gone, too. `caught_up`: the answer to what went before.
void epoch_checks::compare(std::optional<store::reply> caught_up)
{
    session_.own_writes().compare([this, caught_up] { session_.begin_epoch(caught_up); });
}

} // namespace zklock::recipes

#pragma once
#include "queue/contender.hpp"
#include "queue/lock_queue_action.hpp"

#include <boost/container/deque.hpp> // unlike the standard's, takes no memory while empty

#include <algorithm>
#include <cstdint>
#include <vector>

namespace zklock::queue {

/// The lists of the children that were asked for, and what only a later one can tell. Creates, reads and doubts get one
/// stamp each, in order: so it is known what was sent before what.
class readings {
public:
    struct sent_read {
        std::uint64_t stamp;
        bool looks_up; ///< follows a sync
        bool watches;  ///< the children
    };

    [[nodiscard]] std::uint64_t next_stamp() noexcept { return ++stamp_; }
    /// Asks for a list; with `looks_up` behind a sync.
    void send(std::vector<action>&, action::kind how, bool looks_up);
    /// The next one is answered, by a list or by none.
    [[nodiscard]] const sent_read& next() const noexcept { return reads_.front(); }
    void answer();
    void fail();
    void refuse();
    /// Lost creates may be looked for: that was not refused, and is not under way.
    [[nodiscard]] bool may_look_up() const;
    void look_up_again() noexcept { look_up_refused_ = false; }

    /// Only a read sent after this tells who is before our first.
    void doubt() noexcept { doubt_ = ++stamp_; }
    /// A writer of another client has gone, that may read on under its number.
    void doubt_growth() noexcept { doubt_ = growth_ = ++stamp_; }
    void nothing_has_grown() noexcept { growth_ = 0; }
    [[nodiscard]] bool in_doubt(contender_kind kind) const noexcept
    {
        return answered_ < doubt_ && (doubt_ != growth_ || may_have_grown(kind));
    }
    /// Whether a writer of another client has gone, of late, that may read on under its number.
    [[nodiscard]] bool may_have_grown(contender_kind kind) const noexcept
    {
        return !is_shared(kind) && answered_ < growth_;
    }
    /// Whether nothing has been listed since its session went on over another connection, to servers that may have been
    /// set back since.
    [[nodiscard]] bool only_known_of_old(const contender& c) const noexcept
    {
        return answered_ < carried_over_ && c.create_stamp < carried_over_;
    }

    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
    [[nodiscard]] std::uint64_t answered() const noexcept { return answered_; }
    [[nodiscard]] std::uint64_t doubted() const noexcept { return doubt_; }
    /// What a grant has to wait for a list of.
    [[nodiscard]] std::uint64_t to_be_listed() const noexcept { return std::max(growth_, carried_over_); }
    /// A list of the children has come since the last decisions.
    [[nodiscard]] bool just_listed() const noexcept { return just_listed_; }
    void decided() noexcept { just_listed_ = false; }

    void epoch_began() noexcept { carried_over_ = goes_on_ ? ++stamp_ : 0; }
    void contact_lost() noexcept { just_listed_ = false; }
    void epoch_ended() noexcept;
    void session_ended() noexcept;

private:
    bool look_up_refused_ = false;
    bool just_listed_ = false;
    bool goes_on_ = false;           ///< the session has had a connection before
    std::uint64_t stamp_ = 0;        ///< the last one given
    std::uint64_t sent_ = 0;         ///< of the last read sent in this epoch, 0 for none
    std::uint64_t answered_ = 0;     ///< of the last read answered
    std::uint64_t doubt_ = 0;        ///< only a read sent after this tells who is before our first
    std::uint64_t growth_ = 0;       ///< only a read sent after this tells whether a reader has come to be there
    std::uint64_t carried_over_ = 0; ///< what was known by then is of a connection before
    boost::container::deque<sent_read> reads_; ///< unanswered ones
};

} // namespace zklock::queue

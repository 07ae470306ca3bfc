#pragma once
#include "recipes/acquisition/acquire_events.hpp"
#include "zklock/detail/event_sink.hpp"
#include "zklock/errc.hpp"

#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace zklock::recipes {

class semaphore_acquisition;

/// What the listener of a semaphore is told of one acquire. It shares in the permits of the acquire, wherever they are
/// held: their nodes and the acquisitions that they were split into keep it. To the lock of the waiting line it is the
/// listener.
class permit_events final : public acquire_events, public detail::event_sink<lock_event> {
public:
    using acquire_events::acquire_events;

    /// So many permits were granted, by the node of the first.
    void granted(std::string_view node, std::int64_t fencing_token, std::size_t permits) noexcept
    {
        left_ = permits;
        acquired(node, fencing_token);
    }
    /// A permit was given back, and its node is gone; or can be deleted no more.
    void returned(boost::system::error_code ec) noexcept
    {
        if (--left_ == 0)
            released(ec);
    }

private:
    /// The line tells something: only the place in it matters here. Whoever is the first there may wait for a permit.
    void notify(const lock_event& of_the_line) override
    {
        if (of_the_line.what != lock_event::kind::queued)
            return;
        queued(of_the_line.node, of_the_line.sequence);
        if (of_the_line.behind)
            waits_behind(of_the_line.behind);
    }

    std::size_t left_ = 0; ///< permits that were not given back
};

/// The node that stands for one permit, from the wish for it until it is gone.
struct permit_node {
    enum class phase : std::uint8_t {
        unsent, ///< to be created
        creating,
        unknown, ///< its create is lost
        there,
        removing,
        gone
    };

    /// How the release of a permit ends whose node is gone. If no delete of this client's can have done that, others
    /// have deleted it: the permit was lost before it was given back.
    [[nodiscard]] boost::system::error_code fate() const
    {
        const bool lost = ending && !may_be_deleted;
        return lost ? make_error_code(errc::lost) : boost::system::error_code();
    }

    std::uint64_t id = 0; ///< in the order in which they were wanted
    std::string asked;    ///< its name, without the number
    std::string name;     ///< once it is known
    phase now = phase::unsent;
    bool watched = false;                            ///< or about to be
    bool may_be_deleted = false;                     ///< if it is gone, nobody has lost it: a delete of it was sent
    bool vanished = false;                           ///< its deletion was heard of before the answer to its delete
    bool found_gone = false;                         ///< by its delete: so the session lived, and did not take it along
    semaphore_acquisition* owner = nullptr;          ///< null when nobody wants it any more
    std::shared_ptr<semaphore_acquisition> ending{}; ///< which was released, and is told when it is gone
    std::shared_ptr<permit_events> events{};         ///< whose listener hears of that, if any does
};
using permit_ptr = std::shared_ptr<permit_node>;

} // namespace zklock::recipes

#pragma once
#include "store/scheduler.hpp"
#include "store/unique_function.hpp"
#include "zklock/errc.hpp"

#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace zklock::recipes {

class permit_events;
class semaphore_acquisition;

/// The release of some permits, which ends with the last of their nodes.
struct permits_release {
    std::size_t due = 0;             ///< how many have not ended
    boost::system::error_code first; ///< the first error, or that one of them was lost
    store::scheduler::time_point held_since{};
    std::int64_t token = 0;
    store::unique_function<void(boost::system::error_code)> released;

    void tell_released()
    {
        if (released) // not told already
            std::exchange(released, nullptr)(first);
    }
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
    bool watched = false;                      ///< or about to be
    bool may_be_deleted = false;               ///< if it is gone, nobody has lost it: a delete of it was sent
    bool vanished = false;                     ///< its deletion was heard of before the answer to its delete
    bool found_gone = false;                   ///< by its delete: so the session lived, and did not take it along
    semaphore_acquisition* owner = nullptr;    ///< null when nobody wants it any more
    std::shared_ptr<permits_release> ending{}; ///< who is told when it is gone, if anybody
    std::shared_ptr<permit_events> events{};   ///< whose listener hears of that, if any does
};
using permit_ptr = std::shared_ptr<permit_node>;

} // namespace zklock::recipes

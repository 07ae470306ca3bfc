#pragma once
#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace zklock::recipes {

class semaphore_acquisition;

/// The release of some permits, which ends with the last of their nodes.
struct permits_release {
    std::size_t due = 0;
    boost::system::error_code first; ///< the first error
    std::function<void(boost::system::error_code)> released;

    /// What to tell once the last has ended; else nothing.
    [[nodiscard]] std::function<void()> one_ended(boost::system::error_code ec)
    {
        if (ec && !first)
            first = ec;
        if (--due != 0 || !released)
            return nullptr;
        return [f = std::exchange(released, nullptr), ec = first] { f(ec); };
    }
};

/// The node that stands for one permit, from the wish for it until it is gone.
struct lease_node {
    enum class phase : std::uint8_t {
        unsent,   ///< to be created
        creating,
        unknown,  ///< the answer to the create is lost
        there,
        removing,
        gone
    };

    std::uint64_t number = 0; ///< in the order in which they were wished for
    std::string asked; ///< its name, without the number
    std::string name;  ///< once it is known
    phase now = phase::unsent;
    bool watched = false;                           ///< or about to be
    semaphore_acquisition* owner = nullptr;         ///< null when nobody wants it any more
    std::shared_ptr<permits_release> ending{}; ///< who is told when it is gone, if anybody
};
using lease_ptr = std::shared_ptr<lease_node>;

} // namespace zklock::recipes

#include "support/polling.hpp"

#include <poll.h>

#include <stdexcept>
#include <string>

namespace zklock::test {

void wait_until(std::string_view what, milliseconds limit, const std::function<bool()>& holds)
{
    const auto end = steady_clock::now() + limit;
    while (!holds()) {
        if (steady_clock::now() >= end)
            throw std::runtime_error("not within " + std::to_string(limit.count()) + " ms: " + std::string(what));
        ::poll(nullptr, 0, 5);
    }
}

} // namespace zklock::test

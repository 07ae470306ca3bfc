#include "queue/node_name.hpp"

#include "queue/mutants.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace zklock::queue {

std::string name_prefix(naming names, std::string_view uuid)
{
    if (names == naming::curator)
        return std::string("_c_").append(uuid).append("-lock-");
    std::string hex(uuid);
    std::erase(hex, '-');
    return hex.append("__lock__");
}

std::optional<std::int32_t> sequence_of(std::string_view child) noexcept
{
    if (child.size() < sequence_digits)
        return std::nullopt;
    std::string_view number = child.substr(child.size() - sequence_digits);
    if (!std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return std::nullopt;
    std::string_view prefix = child.substr(0, child.size() - sequence_digits);

    if (ZKLOCK_MUTANT(every_number_is_a_contender))
        prefix = "lock-";
    const auto of_a_lock = [](std::string_view p) { return p.ends_with("lock-") || p.ends_with("__lock__"); };
    bool negative = false;
    if (!of_a_lock(prefix)) {
        if (!prefix.ends_with('-'))
            return std::nullopt;
        prefix.remove_suffix(1); // the sign of a number that has overflowed
        negative = true;
        if (!of_a_lock(prefix))
            return std::nullopt;
    }
    std::int64_t value = 0;
    std::from_chars(number.data(), number.data() + number.size(), value);
    if (negative)
        value = -value;
    if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
        return std::nullopt;
    return static_cast<std::int32_t>(value);
}

std::string_view prefix_of(std::string_view child, std::int32_t sequence) noexcept
{
    const std::size_t sign = sequence < 0 ? 1 : 0;
    return child.substr(0, child.size() - sequence_digits - sign);
}

} // namespace zklock::queue

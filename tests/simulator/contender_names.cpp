#include "contender_names.hpp"

#include "settings.hpp"

#include <charconv>

namespace zklock::simulator {

std::optional<std::int64_t> contender_sequence(std::string_view name)
{
    // The last ones are only there where they are heeded.
    static constexpr std::string_view marks[] = {"-lock-",    "__lock__", "__WRIT__", "__READ__",
                                                 "__rlock__", own_mark,   other_mark, ""};
    for (const std::string_view mark : marks) {
        const auto at = mark.empty() ? 0 : name.rfind(mark);
        if (at == name.npos)
            continue;
        const auto digits = name.substr(at + mark.size());
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (error == std::errc{} && end == digits.data() + digits.size() && digits.size() >= 10)
            return number;
    }
    return std::nullopt;
}

bool is_reader(std::string_view name)
{
    return name.find("__READ__") != name.npos || name.find("__rlock__") != name.npos;
}

} // namespace zklock::simulator

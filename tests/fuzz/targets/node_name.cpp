// The names of a lock's children, which anybody may have made: against a second reading of them, and back from the
// names that zklock asks for.
#include "input.hpp"
#include "queue/node_name.hpp"

#include <cstdio>
#include <cstring>

using namespace zklock;
using fuzz::require;

namespace {

/// Read from the back, character by character.
std::optional<std::int32_t> reference(std::string_view name)
{
    std::uint64_t value = 0;
    std::uint64_t weight = 1;
    for (int digit = 0; digit < 10; ++digit, weight *= 10) {
        if (name.empty() || name.back() < '0' || name.back() > '9')
            return std::nullopt;
        value += static_cast<std::uint64_t>(name.back() - '0') * weight;
        name.remove_suffix(1);
    }
    const auto ends_like_a_lock = [&](std::size_t from_end) {
        const std::string_view before = name.substr(0, name.size() - from_end);
        const auto last = [&](std::string_view word) {
            return before.size() >= word.size() && before.rfind(word) == before.size() - word.size();
        };
        return last("lock-") || last("__lock__");
    };
    if (ends_like_a_lock(0))
        return value <= 0x7fff'ffff ? std::optional(static_cast<std::int32_t>(value)) : std::nullopt;
    if (!name.empty() && name.back() == '-' && ends_like_a_lock(1))
        return value <= 0x8000'0000 ? std::optional(static_cast<std::int32_t>(-static_cast<std::int64_t>(value)))
                                    : std::nullopt;
    return std::nullopt;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in(data, size);
    require(queue::sequence_of(in.rest()) == reference(in.rest()), "a name is read as the reference reads it");

    std::uint32_t bits = 0;
    for (int i = 0; i < 4; ++i)
        bits = bits << 8 | in.byte();
    std::string uuid(in.line());
    uuid.resize(36, '-');
    // A parent's counter past 2^31 is negative, for the first billion with as many digits.
    const auto number = static_cast<std::int32_t>(bits >= 0xc000'0000 ? bits & 0x3fff'ffff : bits);
    char digits[16];
    std::snprintf(digits, sizeof digits, "%010d", number);
    for (const naming names : {naming::curator, naming::kazoo}) {
        const std::string prefix = queue::name_prefix(names, uuid);
        require(queue::sequence_of(prefix + digits) == number, "a name zklock asked for gives its number back");
        require(queue::prefix_of(prefix + digits, number) == prefix, "and what was asked for");
        require(!queue::sequence_of(prefix), "what has no number has no place");
    }
    return 0;
}

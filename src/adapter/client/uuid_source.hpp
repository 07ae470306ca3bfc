#pragma once
#include <boost/random/mersenne_twister.hpp>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid.hpp>

#include <array>
#include <cstddef>
#include <string>

namespace zklock::detail {

/// The uuid's 36 characters: lower-case hexadecimal digits in five groups. Each node needs one, and Boost's to_string()
/// takes three times as long. There is room for what a node's name has besides.
[[nodiscard]] inline std::string text_of(const boost::uuids::uuid& id)
{
    constexpr char digits[] = "0123456789abcdef";
    constexpr std::array<std::size_t, 16> places{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
    static_assert(sizeof id.data == places.size());
    std::string text;
    text.reserve(64);
    text.assign(36, '-');
    for (std::size_t i = 0; i < places.size(); ++i) {
        text[places[i]] = digits[id.data[i] >> 4];
        text[places[i] + 1] = digits[id.data[i] & 0xf];
    }
    return text;
}

/// Makes random uuids. They are unique; whether they can be guessed does not matter. Its generator is seeded by the
/// system, as asking the system each time costs more. It is one of Boost's: those of the standard library would not be
/// seeded, and each process would make the same uuids.
class uuid_source {
public:
    [[nodiscard]] std::string operator()() { return text_of(random_()); }

private:
    boost::uuids::basic_random_generator<boost::random::mt19937_64> random_;
};

} // namespace zklock::detail

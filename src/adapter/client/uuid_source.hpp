#pragma once
#include <boost/random/mersenne_twister.hpp>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <string>

namespace zklock::detail {

/// The uuid's 36 characters: lower-case hexadecimal digits in five groups. There is room for what a node's name has
/// besides.
[[nodiscard]] inline std::string text_of(const boost::uuids::uuid& id)
{
    std::string text;
    text.reserve(64);
    text.resize(36);
    boost::uuids::to_chars(id, text.data());
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

#include "adapter/client/uuid_source.hpp"

#include <boost/random/mersenne_twister.hpp>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <memory>

namespace zklock::detail {

std::string text_of(const boost::uuids::uuid& id)
{
    std::string text;
    text.reserve(64);
    text.resize(36);
    boost::uuids::to_chars(id, text.data());
    return text;
}

/// The generator is seeded by the system, as asking the system each time costs more. It is one of Boost's: those of the
/// standard library would not be seeded, and each process would make the same uuids.
std::function<std::string()> make_uuid_source()
{
    using generator = boost::uuids::basic_random_generator<boost::random::mt19937_64>;
    return [random = std::make_shared<generator>()] { return text_of((*random)()); };
}

} // namespace zklock::detail

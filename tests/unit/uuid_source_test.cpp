#include "adapter/client/uuid_source.hpp"

#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <doctest/doctest.h>

#include <set>

TEST_CASE("the text is what Boost makes of the same uuid")
{
    const auto id = boost::uuids::string_generator()("0f1e2d3c-4b5a-4697-8899-aabbccddeeff");
    CHECK(zklock::detail::text_of(id) == "0f1e2d3c-4b5a-4697-8899-aabbccddeeff");
    boost::uuids::random_generator_mt19937 random;
    for (int i = 0; i < 100; ++i) {
        const auto any = random();
        CHECK(zklock::detail::text_of(any) == to_string(any));
    }
}

TEST_CASE("two sources make different random uuids")
{
    const auto one = zklock::detail::make_uuid_source(), other = zklock::detail::make_uuid_source();
    std::set<std::string> all;
    for (int i = 0; i < 1000; ++i)
        for (auto* source : {&one, &other}) {
            const std::string text = (*source)();
            CHECK(all.insert(text).second);
            const auto id = boost::uuids::string_generator()(text);
            CHECK(id.version() == boost::uuids::uuid::version_random_number_based);
            CHECK(id.variant() == boost::uuids::uuid::variant_rfc_4122);
        }
}

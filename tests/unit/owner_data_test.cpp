#include "queue/owner_data.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zklock::queue;

namespace {

using properties = owner_data::properties;

void check_reads_the_same(const std::string& identifier, const properties& more)
{
    REQUIRE(valid_owner_data(identifier, more));
    const owner_data read = read_owner_data(write_owner_data(identifier, more));
    CHECK(read.identifier == identifier);
    CHECK(read.more == more);
    CHECK_FALSE(read.revoked);
}

} // namespace

TEST_SUITE("owner data")
{
    TEST_CASE("what is written is read the same")
    {
        check_reads_the_same("host:1", {});
        check_reads_the_same("", {});
        check_reads_the_same("", {{"a", "b"}});
        check_reads_the_same("host:1", {{"version", "1.2"}, {"empty", ""}, {"sum", "1+1=2"},
                                        {"binary", std::string("\0\xff\r", 3)}});
        check_reads_the_same("key=value", {{"key", "other"}});
        check_reads_the_same("__REVOKE__", {{"a", "b"}});
        check_reads_the_same(std::string(longest_owner_data, 'x'), {});
        CHECK(write_owner_data("me", {{"b", "2"}, {"a", "1"}}) == "me\na=1\nb=2");
        CHECK(write_owner_data("me", {}) == "me");
    }

    TEST_CASE("what could not be read the same is refused")
    {
        CHECK_FALSE(valid_owner_data("two\nlines", {}));
        CHECK_FALSE(valid_owner_data("__REVOKE__", {}));
        CHECK_FALSE(valid_owner_data("me", {{"", "empty key"}}));
        CHECK_FALSE(valid_owner_data("me", {{"a=b", "c"}}));
        CHECK_FALSE(valid_owner_data("me", {{"a\nb", "c"}}));
        CHECK_FALSE(valid_owner_data("me", {{"a", "b\nc"}}));
        CHECK_FALSE(valid_owner_data(std::string(longest_owner_data + 1, 'x'), {}));
        CHECK(valid_owner_data("me", {{"a", std::string(longest_owner_data - 5, 'x')}}));
        CHECK_FALSE(valid_owner_data("me", {{"a", std::string(longest_owner_data - 4, 'x')}}));
    }

    TEST_CASE("others' data are read as far as they say anything")
    {
        const owner_data odd = read_owner_data("10.0.0.1\nno property\n=no key\nk=first\n\nk=second\nlast=");
        CHECK(odd.identifier == "10.0.0.1");
        CHECK(odd.more == properties{{"k", "first"}, {"last", ""}});
        CHECK(read_owner_data(std::string_view("\0\xff\x80", 3)).identifier == std::string("\0\xff\x80", 3));
        CHECK(read_owner_data("").identifier.empty());
        CHECK(read_owner_data("__REVOKE__").revoked);
        CHECK(read_owner_data("__REVOKE__").identifier.empty());
        CHECK_FALSE(read_owner_data("__REVOKE__\n").revoked);
        CHECK(read_owner_data(std::string(1024 * 1024, 'x')).identifier.size() == longest_owner_data);
    }
}

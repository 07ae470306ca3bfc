#include "queue/owner_data.hpp"
#include "recipes/session/option_faults.hpp"

#include <doctest/doctest.h>

using namespace zklock::queue;

namespace {

using properties = owner_data::properties;

constexpr std::size_t longest = 64 * 1024; // as the guide promises

bool can_be_written(std::string_view identifier, const properties& more)
{
    return !zklock::recipes::find_fault(identifier, more);
}

void check_reads_the_same(const std::string& identifier, const properties& more)
{
    REQUIRE(can_be_written(identifier, more));
    const owner_data read = read_owner_data(write_owner_data(identifier, more));
    CHECK(read.identifier == identifier);
    CHECK(read.more == more);
    CHECK_FALSE(read.revoked);
}

} // namespace

TEST_CASE("where the client may be reached is a line of its own, and no property")
{
    const std::string data = with_handoff("me\na=1", "10.0.0.1:7000");
    CHECK(data == "me\na=1\nhandoff=10.0.0.1:7000");
    CHECK(handoff_of(data) == "10.0.0.1:7000");
    CHECK(read_owner_data(data).identifier == "me");
    CHECK(read_owner_data(data).more == properties{{"a", "1"}});
    CHECK(handoff_of("me\nhandoff=by hand\nhandoff=[::1]:7\nhandoff=1.1.1.1:1") == "[::1]:7");
    CHECK(read_owner_data("me\nhandoff=by hand").more == properties{{"handoff", "by hand"}});
    CHECK(handoff_of("handoff=10.0.0.1:7000").empty()); // the first line says who it is
    CHECK(handoff_of("__REVOKE__").empty());
    CHECK(handoff_of("").empty());
    CHECK_FALSE(can_be_written("me", {{"handoff", "10.0.0.1:7000"}}));
    CHECK(can_be_written("me", {{"handoff", "by hand"}}));
    const std::string long_data(longest, 'x');
    CHECK(with_handoff(long_data, "10.0.0.1:7000") == long_data);
    CHECK(handoff_of(long_data + "\nhandoff=10.0.0.1:7000").empty());
}

TEST_CASE("an endpoint is a numeric address and a port")
{
    for (const char* good : {"10.0.0.1:1", "255.255.255.255:65535", "[::1]:7", "[fe80::1]:80", "[::ffff:1.2.3.4]:9"})
        CHECK_MESSAGE(looks_like_endpoint(good), good);
    for (const char* bad :
         {"", ":", ":1", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:+1", "10.0.0.1:1 ",
          "10.0.0.1:99999999999999999999", "example.com:1", "::1:7", "[]:1", "[::1:7", "[g]:1", "10.0.0.1:1:x", "a:1"})
        CHECK_MESSAGE(!looks_like_endpoint(bad), bad);
    CHECK_FALSE(looks_like_endpoint(std::string(63, '1') + ":1"));
}

TEST_CASE("what is written is read the same")
{
    check_reads_the_same("host:1", {});
    check_reads_the_same("", {});
    check_reads_the_same("", {{"a", "b"}});
    check_reads_the_same("host:1",
                         {{"version", "1.2"}, {"empty", ""}, {"sum", "1+1=2"}, {"binary", std::string("\0\xff\r", 3)}});
    check_reads_the_same("key=value", {{"key", "other"}});
    check_reads_the_same("__REVOKE__", {{"a", "b"}});
    check_reads_the_same(std::string(longest, 'x'), {});
    CHECK(write_owner_data("me", {{"b", "2"}, {"a", "1"}}) == "me\na=1\nb=2");
    CHECK(write_owner_data("me", {}) == "me");
}

TEST_CASE("what could not be read the same is refused")
{
    CHECK_FALSE(can_be_written("two\nlines", {}));
    CHECK_FALSE(can_be_written("__REVOKE__", {}));
    CHECK_FALSE(can_be_written("me", {{"", "empty key"}}));
    CHECK_FALSE(can_be_written("me", {{"a=b", "c"}}));
    CHECK_FALSE(can_be_written("me", {{"a\nb", "c"}}));
    CHECK_FALSE(can_be_written("me", {{"a", "b\nc"}}));
    CHECK_FALSE(can_be_written(std::string(longest + 1, 'x'), {}));
    CHECK(can_be_written("me", {{"a", std::string(longest - 5, 'x')}}));
    CHECK_FALSE(can_be_written("me", {{"a", std::string(longest - 4, 'x')}}));
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
    CHECK(read_owner_data(std::string(1024 * 1024, 'x')).identifier.size() == longest);
}

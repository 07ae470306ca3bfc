// sanitizers: none
// program: requests
// Host lists as people write them.
#include "bridge/names/host_list.hpp"

#include <doctest/doctest.h>

using namespace zklock;
using bridge::host_port;

TEST_CASE("host lists")
{
    auto one = [](const char* text) {
        auto found = bridge::parse_servers(text);
        REQUIRE(found.has_value());
        REQUIRE(found.value().size() == 1);
        return found.value()[0];
    };
    CHECK(one("127.0.0.1:2182") == host_port{"127.0.0.1", 2182, true});
    CHECK(one("[::1]:2182") == host_port{"::1", 2182, true});
    CHECK(one("[fe80::1]") == host_port{"fe80::1", 2181, true});
    CHECK(one("zoo-1.example.org:65535") == host_port{"zoo-1.example.org", 65535, false});
    CHECK(one("zoo") == host_port{"zoo", 2181, false});
    CHECK(one(" zoo:1 ") == host_port{"zoo", 1, false});
    CHECK(one("zoo:1,zoo:1") == host_port{"zoo", 1, false});
    CHECK(bridge::parse_servers("a:1, b:2,[::1]:3").value().size() == 3);

    for (const char* bad : {"",      " ",          ",",     "a,",      ",a",          "a,,b",          "[]:1",
                            "a:0",   "a:65536",    "a:",    "a:x",     "a:1x",        "a:-1",          ":2181",
                            "::1",   "::1:2181",   "[::1",  "[::1]x",  "[::1]:",      "[127.0.0.1]:1", "[a]:1",
                            "a b:1", "a:1/chroot", "a:1:2", "1.2.3:1", "256.1.1.1:1", "a;b:1",         "\xc3\xa4:1"}) {
        CAPTURE(bad);
        CHECK_FALSE(bridge::parse_servers(bad).has_value());
    }
    CHECK_FALSE(bridge::parse_servers(std::string_view{"127.0.0.1\0x:1", 13}).has_value());
    CHECK_FALSE(bridge::parse_servers("[fe80::1%a b]:1").has_value());
}

#include "bridge/peers/addresses.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace zklock::bridge::peering;

namespace {

bool contained(std::initializer_list<const char*> listed, const char* in)
{
    std::vector<network> read;
    for (const char* each : listed) {
        CAPTURE(each);
        const auto one = parse_network(each);
        REQUIRE(one);
        read.push_back(*one);
    }
    const auto one = parse_address(in);
    REQUIRE(one);
    return networks(read).contain(*one);
}

} // namespace

TEST_SUITE("peers: addresses")
{
    TEST_CASE("an endpoint is a numeric address and a port, and is written as it is read")
    {
        for (const char* text : {"10.0.0.1:7411", "0.0.0.0:0", "[2001:db8::1]:65535", "[::]:0"}) {
            CAPTURE(text);
            const auto read = parse_endpoint(text);
            REQUIRE(read);
            CHECK(text_of(*read) == text);
        }
        CHECK(text_of(parse_endpoint("[::ffff:10.0.0.1]:7").value()) == "10.0.0.1:7");
    }

    TEST_CASE("what is no endpoint is not read as one")
    {
        for (const char* text : {"",
                                 ":",
                                 "10.0.0.1",
                                 "10.0.0.1:",
                                 ":7411",
                                 "10.0.0.1:65536",
                                 "10.0.0.1:-1",
                                 "10.0.0.1:+1",
                                 "10.0.0.1: 1",
                                 "10.0.0.1:07",
                                 "10.0.0:7",
                                 "010.0.0.1:7",
                                 "10.0.0.1:7 ",
                                 " 10.0.0.1:7",
                                 "host:7",
                                 "[10.0.0.1]:7",
                                 "2001:db8::1:7",
                                 "[2001:db8::1]",
                                 "[2001:db8::1:7",
                                 "2001:db8::1]:7",
                                 "[fe80::1%eth0]:7",
                                 "[fe80::1%1]:7",
                                 "[]:7",
                                 "[[::1]]:7",
                                 "10.0.0.1:7:7"}) {
            CAPTURE(text);
            CHECK_FALSE(parse_endpoint(text));
        }
        CHECK_FALSE(parse_endpoint(std::string("10.0.0.1\0.2:7", 13)));
        CHECK_FALSE(parse_endpoint(std::string(100'000, '1')));
    }

    TEST_CASE("a network's bits are zero behind its length")
    {
        CHECK(parse_network("10.0.0.0/8"));
        CHECK(parse_network("0.0.0.0/0"));
        CHECK(parse_network("10.1.2.3"));
        CHECK(parse_network("10.1.2.3") == parse_network("10.1.2.3/32"));
        CHECK(parse_network("10.1.2.128/25"));
        CHECK(parse_network("2001:db8::/32"));
        CHECK(parse_network("::/0"));
        CHECK(parse_network("::1"));
        for (const char* text : {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.1/8", "10.1.2.129/25", "10/8",
                                 "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0.0/ 8", "2001:db8::/129", "2001:db8::1/32",
                                 "[2001:db8::]/32", "::ffff:10.0.0.0/104", "host", "fe80::1%1/128", "10.0.0.0/-1"}) {
            CAPTURE(text);
            CHECK_FALSE(parse_network(text));
        }
    }

    TEST_CASE("an address is in the networks that have its first bits")
    {
        CHECK(contained({"10.0.0.0/8"}, "10.255.0.1"));
        CHECK_FALSE(contained({"10.0.0.0/8"}, "11.0.0.1"));
        CHECK(contained({"10.1.2.128/25"}, "10.1.2.129"));
        CHECK_FALSE(contained({"10.1.2.128/25"}, "10.1.2.127"));
        CHECK(contained({"192.0.2.0/24", "10.1.2.3"}, "10.1.2.3"));
        CHECK_FALSE(contained({"192.0.2.0/24", "10.1.2.3"}, "10.1.2.4"));
        CHECK(contained({"2001:db8::/33"}, "2001:db8:7fff::1"));
        CHECK_FALSE(contained({"2001:db8::/33"}, "2001:db8:8000::1"));
        CHECK_FALSE(contained({}, "10.0.0.1"));
    }

    TEST_CASE("one kind of address is not in a network of the other, but for mapped ones, which are IPv4")
    {
        CHECK_FALSE(contained({"0.0.0.0/0"}, "2001:db8::1"));
        CHECK_FALSE(contained({"::/0"}, "10.0.0.1"));
        CHECK(contained({"10.0.0.0/8"}, "::ffff:10.0.0.1"));
        CHECK_FALSE(contained({"::/0"}, "::ffff:10.0.0.1"));
    }

    TEST_CASE("link-local, multicast, unspecified and broadcast addresses are never connected to")
    {
        for (const char* each : {"169.254.169.254", "224.0.0.1", "239.1.2.3", "255.255.255.255", "0.0.0.0", "fe80::1",
                                 "febf::1", "ff02::1", "ff0e::1", "::", "::ffff:169.254.169.254", "::ffff:224.0.0.1"}) {
            CAPTURE(each);
            CHECK_FALSE(contained({"0.0.0.0/0", "::/0"}, each));
        }
        CHECK_FALSE(contained({"169.254.0.0/16"}, "169.254.169.254"));
    }

    TEST_CASE("the own machine is connected to only where that is listed by itself")
    {
        for (const char* each : {"127.0.0.1", "127.1.2.3", "::ffff:127.0.0.1"}) {
            CAPTURE(each);
            CHECK_FALSE(contained({"0.0.0.0/0", "::/0", "126.0.0.0/7"}, each));
            CHECK(contained({"127.0.0.0/8"}, each));
        }
        CHECK(contained({"127.0.0.1"}, "127.0.0.1"));
        CHECK_FALSE(contained({"::/0", "::/127"}, "::1"));
        CHECK(contained({"::1"}, "::1"));
        CHECK_FALSE(contained({"0.0.0.0/0"}, "0.0.0.1"));
    }
}

#include "bridge/peers/settings.hpp"

#include <doctest/doctest.h>

using namespace zklock;
using namespace zklock::bridge::peering;

TEST_SUITE("peers: settings")
{
    TEST_CASE("options are read")
    {
        handoff_options options;
        options.listen = "0.0.0.0:0";
        options.advertise = "192.0.2.1:7411";
        options.peers = {"10.0.0.0/8", "::1"};
        const auto read = settings_of(options);
        REQUIRE(read);
        CHECK(text_of(read->listen) == "0.0.0.0:0");
        CHECK(read->advertised == parse_address("192.0.2.1"));
        CHECK(read->advertised_port == 7411);
        CHECK(read->peers.size() == 2);
        options.advertise = "2001:db8::1";
        CHECK(settings_of(options)->advertised == parse_address("2001:db8::1"));
        CHECK_FALSE(settings_of(options)->advertised_port);
        options.advertise.clear();
        CHECK_FALSE(settings_of(options)->advertised);
    }

    TEST_CASE("without an address to listen on, and with what cannot be read, there are no settings")
    {
        CHECK_FALSE(settings_of({}));
        handoff_options options;
        options.listen = "0.0.0.0:0";
        CHECK(settings_of(options));
        for (const char* wrong : {"0.0.0.0", "host:1", "224.0.0.1", "fe80::1", "192.0.2.1:0", "host", "192.0.2.1:"}) {
            CAPTURE(wrong);
            options.advertise = wrong;
            CHECK_FALSE(settings_of(options));
        }
        options.advertise.clear();
        options.peers = {"10.0.0.1/8"};
        CHECK_FALSE(settings_of(options));
    }
}

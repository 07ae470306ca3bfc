#include "bridge/peers/connect_bounds.hpp"
#include "peers_scene.hpp"

#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::test;
using namespace zklock::bridge::peering;

namespace {

endpoint somebody(unsigned number)
{
    return parse_endpoint("10.0." + std::to_string(number / 250) + '.' + std::to_string(number % 250 + 1) + ":7")
        .value();
}

connect_bounds within(const char* listed) { return connect_bounds(networks({parse_network(listed).value()})); }

/// How many connects a node's data causes within a minute, in which it names another endpoint each millisecond, of
/// which none answers.
unsigned connects_by_changes()
{
    auto bounds = within("10.0.0.0/8");
    unsigned connects = 0;
    for (unsigned i = 0; i < 60'000; ++i)
        if (bounds.begin(somebody(i), at(1ms * i))) {
            ++connects;
            bounds.ended(false);
        }
    return connects;
}

} // namespace

TEST_SUITE("peers: bounds")
{
    TEST_CASE("a bucket allows some at once, and then one in each interval")
    {
        token_bucket bucket(3, 100ms);
        for (int i = 0; i < 3; ++i)
            CHECK(bucket.take(at(0s)));
        CHECK_FALSE(bucket.take(at(0s)));
        CHECK(bucket.next(at(0s)) == at(100ms));
        CHECK_FALSE(bucket.take(at(99ms)));
        CHECK(bucket.take(at(100ms)));
        CHECK_FALSE(bucket.take(at(100ms)));
        bucket.give_back(1);
        CHECK(bucket.take(at(100ms)));
        for (int i = 0; i < 3; ++i) // no more than that, however long it was
            CHECK(bucket.take(at(10h)));
        CHECK_FALSE(bucket.take(at(10h)));
        bucket.give_back(100);
        for (int i = 0; i < 3; ++i)
            CHECK(bucket.take(at(10h)));
        CHECK_FALSE(bucket.take(at(10h)));
    }

    TEST_CASE("nobody outside of the listed networks is connected to, and no port 0")
    {
        auto bounds = within("10.0.0.0/8");
        CHECK_FALSE(bounds.begin(parse_endpoint("11.0.0.1:7").value(), at(0s)));
        CHECK_FALSE(bounds.begin(parse_endpoint("127.0.0.1:7").value(), at(0s)));
        CHECK_FALSE(bounds.begin(parse_endpoint("10.0.0.1:0").value(), at(0s)));
        CHECK(bounds.begin(parse_endpoint("10.0.0.1:7").value(), at(0s)));
    }

    TEST_CASE("an endpoint is tried once in five seconds")
    {
        auto bounds = within("10.0.0.0/8");
        CHECK(bounds.begin(somebody(1), at(0s)));
        bounds.ended(false);
        CHECK_FALSE(bounds.begin(somebody(1), at(4'999ms)));
        CHECK(bounds.begin(somebody(2), at(4'999ms)));
        CHECK(bounds.begin(somebody(1), at(5s)));
    }

    TEST_CASE("eight connects are under way at most, and 64 connections are there")
    {
        auto bounds = within("10.0.0.0/8");
        for (unsigned i = 0; i < 8; ++i)
            CHECK(bounds.begin(somebody(i), at(0s)));
        CHECK_FALSE(bounds.begin(somebody(8), at(0s)));
        for (unsigned i = 0; i < 8; ++i)
            bounds.connected();
        for (unsigned i = 8; i < 64; ++i) {
            CHECK(bounds.begin(somebody(i), at(0s)));
            bounds.connected();
        }
        CHECK(bounds.full());
        CHECK_FALSE(bounds.begin(somebody(64), at(1h)));
        CHECK(bounds.permit(somebody(64), at(1h)));
        bounds.ended(true);
        CHECK(bounds.begin(somebody(64), at(1h)));
    }

    TEST_CASE("changed data cause a bounded number of connects, and a bug without that bound is found")
    {
        const unsigned bound = 64 + 60 * 4; // at once, and four each second
        CHECK(connects_by_changes() <= bound);
        const with_mutant now(mutant::endpoint_changes_reconnect_without_bound);
        CHECK(connects_by_changes() > bound);
    }

    TEST_CASE("256 may connect, 16 of one address or of one IPv6 network")
    {
        inbound_places places;
        const auto one = parse_address("10.0.0.1").value();
        for (int i = 0; i < 16; ++i)
            CHECK(places.take(one));
        CHECK_FALSE(places.take(one));
        for (int i = 0; i < 16; ++i)
            CHECK(places.take(parse_address("2001:db8::" + std::to_string(i)).value()));
        CHECK_FALSE(places.take(parse_address("2001:db8::abcd").value()));
        CHECK(places.take(parse_address("2001:db8:0:1::1").value()));
        places.give_back(one);
        CHECK(places.take(one));
        for (unsigned i = 0; places.taken() < 256; ++i)
            REQUIRE(places.take(somebody(250 + i).address()));
        CHECK_FALSE(places.take(parse_address("192.0.2.1").value()));
        places.give_back(parse_address("192.0.2.1").value()); // who never had one
        CHECK(places.taken() == 256);
    }
}

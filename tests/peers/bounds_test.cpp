#include "bridge/peers/connect_bounds.hpp"
#include "peers_scene.hpp"

using namespace zklock::test;
using namespace zklock::bridge::peering;

namespace {

using place_for = inbound_places::answer;

endpoint somebody(unsigned number)
{
    return parse_endpoint("10.0." + std::to_string(number / 250) + '.' + std::to_string(number % 250 + 1) + ":7")
        .value();
}

connect_bounds within(const char* listed)
{
    return connect_bounds(networks({parse_network(listed).value()}));
}

/// How many connects a node's data causes within that time, in which it names another endpoint each millisecond, of
/// which none answers.
unsigned connects_by_changes(std::chrono::milliseconds within_that)
{
    auto bounds = within("10.0.0.0/8");
    unsigned connects = 0;
    for (unsigned i = 0; 1ms * i < within_that; ++i)
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
        CHECK(connects_by_changes(1min) <= bound);
        const with_mutant now(mutants::id::endpoint_changes_reconnect_without_bound);
        CHECK(connects_by_changes(1s) > bound);
    }

    TEST_CASE("256 may connect, 16 of one address or of one IPv6 network")
    {
        inbound_places places;
        const auto take = [&](const std::string& of) { return places.take(parse_address(of).value(), at(0s)); };
        for (int i = 0; i < 16; ++i)
            CHECK(take("10.0.0.1") == place_for::granted);
        CHECK(take("10.0.0.1") == place_for::over_share);
        for (int i = 0; i < 16; ++i)
            CHECK(take("2001:db8::" + std::to_string(i)) == place_for::granted);
        CHECK(take("2001:db8::abcd") == place_for::over_share);
        CHECK(take("2001:db8:0:1::1") == place_for::granted);
        places.give_back(parse_address("10.0.0.1").value(), true);
        CHECK(take("10.0.0.1") == place_for::granted);
        for (unsigned i = 0; places.taken() < 256; ++i)
            REQUIRE(places.take(somebody(250 + i).address(), at(1min)) == place_for::granted);
        CHECK(places.take(parse_address("192.0.2.1").value(), at(1min)) == place_for::all_taken);
        places.give_back(parse_address("192.0.2.1").value(), true); // who never had one
        CHECK(places.taken() == 256);
    }

    TEST_CASE("addresses that connect again and again, of no use to anybody: others get in all the same")
    {
        inbound_places places;
        std::array<unsigned, 10> of_loud{};
        for (int ms = 0; ms < 60'000; ++ms) {
            for (unsigned i = 0; i < of_loud.size(); ++i) {
                const auto loud = somebody(10'000 + i).address();
                for (int times = 0; times < 4; ++times)
                    if (places.take(loud, at(1ms * ms)) == place_for::granted) {
                        ++of_loud[i];
                        places.give_back(loud, false);
                    }
            }
            if (ms % 20 == 0) { // each time another
                const auto one = somebody(static_cast<unsigned>(ms / 20)).address();
                REQUIRE(places.take(one, at(1ms * ms)) == place_for::granted);
                places.give_back(one, true);
            }
        }
        for (const unsigned granted : of_loud) { // their share
            CHECK(granted > 60 * 20);
            CHECK(granted < 60 * 50);
        }
    }

    TEST_CASE("all clients behind one address come back at once, and again, and some later at any time")
    {
        inbound_places places;
        const auto one = parse_address("10.0.0.1").value();
        for (int times = 0; times < 4; ++times) {
            for (int i = 0; i < 16; ++i)
                REQUIRE(places.take(one, at(0s)) == place_for::granted);
            for (int i = 0; i < 40; ++i) // who finds no place costs the others nothing
                REQUIRE(places.take(one, at(0s)) == place_for::over_share);
            for (int i = 0; i < 16; ++i)
                places.give_back(one, true);
        }
        for (auto now = 1s; now < 100s; now += 1s)
            for (int i = 0; i < 16; ++i) {
                REQUIRE(places.take(one, at(now)) == place_for::granted);
                places.give_back(one, true);
            }
    }

    TEST_CASE("many addresses: so many at once, then one in each interval, and those of before are forgotten")
    {
        inbound_places places;
        unsigned granted = 0;
        std::size_t most = 0;
        for (unsigned i = 0; i < 240'000; ++i) { // four in each millisecond, each of another IPv6 network
            std::array<unsigned char, 16> bits{0x20, 0x01, 0x0d, 0xb8};
            bits[5] = static_cast<unsigned char>(i >> 16);
            bits[6] = static_cast<unsigned char>(i >> 8);
            bits[7] = static_cast<unsigned char>(i);
            const address one = boost::asio::ip::address_v6(bits);
            if (places.take(one, at(i * 250us)) == place_for::granted) {
                ++granted;
                places.give_back(one, true);
            }
            most = std::max(most, places.addresses_remembered());
        }
        CHECK(granted <= 256 + 60 * 125);
        CHECK(granted > 60 * 100);
        CHECK(most <= 1024);
    }
}

#include "bridge/peers/inbound.hpp"
#include "peers_scene.hpp"

#include <random>

using namespace zklock::test;
using namespace zklock::bridge::peering;

namespace {

constexpr int vain_wishes = 512;

/// Our nodes 1, 2 and 3, and somebody who has connected.
struct visit {
    counters::counter told;
    offers all{told};
    std::string out;
    std::vector<node_id> awaited;
    std::vector<offers::place> places;
    inbound peer{all, 5, at(0s), out};

    visit()
    {
        for (unsigned i = 1; i <= 3; ++i)
            places.push_back(all.offer(node(i)));
    }
    /// Lets one of those go.
    std::vector<offers::peer_id> publish(unsigned number, lease_clock::duration when = 0s,
                                         std::span<const store::node_secret> before = {})
    {
        return all.publish(places.at(number - 1), secret(number), before, at(when));
    }
    verdict says(const std::string& what, lease_clock::duration when = 0s)
    {
        return peer.receive(bytes_of(what), at(when), out, awaited);
    }
    verdict subscribes_to(unsigned number, lease_clock::duration when = 0s)
    {
        return says(test::wish(peering::wish::subscribe, number), when);
    }
};

} // namespace

TEST_SUITE("peers: who connects to us")
{
    TEST_CASE("it is greeted before it has said anything")
    {
        visit v;
        CHECK(v.out == greeting_text());
    }

    TEST_CASE("it is told of who lets go what it waits for, and we are told that it waits")
    {
        visit v;
        CHECK(v.subscribes_to(1) == verdict::go_on);
        CHECK(v.awaited == std::vector<node_id>{node(1)});
        CHECK(v.publish(1) == std::vector<offers::peer_id>{5});
        v.out.clear();
        v.publish(2, 0s, std::vector{secret(9)});
        CHECK(v.subscribes_to(2) == verdict::go_on);
        CHECK(v.out == certificate(9) + certificate(2)); // it was on its way
        CHECK(v.awaited.size() == 1);
    }

    TEST_CASE("it is told once of nodes before, and always of the one that it waits for")
    {
        visit v;
        const auto hears = [&](const std::vector<unsigned>& numbers) {
            std::vector<store::node_secret> secrets;
            for (unsigned number : numbers)
                secrets.push_back(secret(number));
            v.out.clear();
            v.peer.tell(secrets, v.out);
            return v.out;
        };
        CHECK(hears({8, 9, 1}) == certificate(8) + certificate(9) + certificate(1));
        CHECK(hears({8, 9, 1, 7, 2}) == certificate(7) + certificate(2));
        CHECK(hears({1, 2}) == certificate(2));
        CHECK(hears({}) == "");
        for (unsigned number = 100; number < 116; ++number)
            hears({number});
        CHECK(hears({100, 115, 7, 3}) == certificate(7) + certificate(3)); // 7 was told long ago
    }

    TEST_CASE("whose first word is for no node of ours is hung up on, and so is rubbish")
    {
        visit v;
        CHECK(v.subscribes_to(77) == verdict::hang_up);
        visit other;
        CHECK(other.says(test::wish(peering::wish::unsubscribe, 1) + "GET / HTTP/1.1\r\n\r\n") == verdict::hang_up);
        visit third;
        CHECK(third.subscribes_to(1) == verdict::go_on);
        CHECK(third.says(std::string(17, '\0')) == verdict::hang_up);
    }

    TEST_CASE("who says nothing within a second is hung up on, and who says it bit by bit as well")
    {
        visit v;
        CHECK(v.peer.due() == at(1s));
        CHECK(v.peer.time_passed(at(999ms)) == verdict::go_on);
        const std::string slow = test::wish(peering::wish::subscribe, 1);
        for (unsigned i = 0; i + 1 < slow.size(); ++i)
            CHECK(v.says(slow.substr(i, 1), 60ms * i) == verdict::go_on);
        CHECK(v.peer.due() == at(1s));
        CHECK(v.peer.time_passed(at(1s)) == verdict::hang_up);
        visit other; // a word that is of no use is none
        CHECK(other.says(test::wish(peering::wish::unsubscribe, 1)) == verdict::go_on);
        CHECK(other.peer.time_passed(at(1s)) == verdict::hang_up);
    }

    TEST_CASE("who waits may be silent for ever, and who waits for nothing for a while")
    {
        visit v;
        CHECK(v.subscribes_to(1) == verdict::go_on);
        auto when = 0s;
        for (int i = 0; i < 100; ++i) {
            when += 90s;
            CHECK(v.peer.due() == at(when));
            CHECK(v.peer.time_passed(at(when)) == verdict::go_on);
        }
        v.publish(1, when);
        CHECK(v.peer.time_passed(at(when + 89s)) == verdict::go_on);
        CHECK(v.peer.time_passed(at(when + 90s)) == verdict::hang_up);
    }

    TEST_CASE("names that are not ours are not stored, and soon not listened to")
    {
        visit v;
        CHECK(v.subscribes_to(1) == verdict::go_on);
        unsigned taken = 0;
        while (v.subscribes_to(1000 + taken) == verdict::go_on)
            ++taken;
        CHECK(taken == vain_wishes);
        CHECK(v.awaited.size() == 1);
        for (unsigned i = 0; i < taken; ++i) {
            (void)v.all.offer(node(1000 + i));
            CHECK_FALSE(v.all.awaited(node(1000 + i)));
        }
    }

    TEST_CASE("who subscribes and unsubscribes without end is hung up on")
    {
        visit v;
        int times = 0;
        while (v.subscribes_to(1) == verdict::go_on &&
               v.says(test::wish(peering::wish::unsubscribe, 1)) == verdict::go_on)
            ++times;
        CHECK(times == vain_wishes);
        CHECK(v.awaited.size() == static_cast<std::size_t>(times) + 1);
    }

    TEST_CASE("who says bit by bit what would be of use is hung up on, unless that is slow")
    {
        const std::string wish = test::wish(peering::wish::subscribe, 1);
        const auto bits_taken = [&](lease_clock::duration between) {
            visit v;
            CHECK(v.subscribes_to(1) == verdict::go_on);
            int taken = 0;
            while (taken < 5'000 && v.says(wish.substr(static_cast<unsigned>(taken) % wish.size(), 1),
                                           between * taken) == verdict::go_on)
                ++taken;
            return taken;
        };
        CHECK(bits_taken(2ms) == 5'000);
        CHECK(bits_taken(0ms) == vain_wishes);
    }

    TEST_CASE("all who connect have some wishes in vain together, and then each that has one more is hung up on")
    {
        visit v;
        constexpr int with_all = 16'384 / vain_wishes;
        for (int i = 0; i <= with_all; ++i) {
            inbound other(v.all, 100 + static_cast<offers::peer_id>(i), at(0s), v.out);
            const auto says = [&](unsigned number) {
                return other.receive(bytes_of(test::wish(peering::wish::subscribe, number)), at(0s), v.out, v.awaited);
            };
            CHECK(says(1) == verdict::go_on); // which is of use
            int vain = 0;
            while (says(77) == verdict::go_on)
                ++vain;
            CHECK(vain == (i < with_all ? vain_wishes : 0));
        }
    }

    TEST_CASE("who waits for one node after another is listened to without end, also where they come too late")
    {
        visit v;
        for (unsigned i = 0; i < 20'000; ++i) {
            const auto place = v.all.offer(node(100 + i));
            if (i % 3 == 0)
                v.all.publish(place, secret(100 + i), {}, at(0s));
            REQUIRE(v.subscribes_to(100 + i) == verdict::go_on);
            if (i % 3 == 1) { // withdrawn, while its word that it waits no more was on its way
                REQUIRE(v.all.withdraw(place, at(0s)).size() == 1);
                v.peer.answered();
                REQUIRE(v.says(test::wish(peering::wish::unsubscribe, 100 + i)) == verdict::go_on);
            } else if (i % 3 == 2) {
                REQUIRE(v.all.publish(place, secret(100 + i), {}, at(0s)).size() == 1);
            }
            v.out.clear();
        }
    }

    TEST_CASE("any bytes lead to a bounded answer")
    {
        std::mt19937 random(7); // NOLINT: the same each time
        for (int round = 0; round < 200; ++round) {
            visit v;
            CHECK(v.subscribes_to(1) == verdict::go_on);
            v.out.clear();
            std::size_t taken = 0;
            for (auto now = verdict::go_on; now == verdict::go_on && taken < 100'000;) {
                std::string any(random() % 100, '\0');
                for (char& each : any)
                    each = static_cast<char>(random() % (round % 2 == 0 ? 256 : 4));
                now = v.says(any);
                taken += any.size();
            }
            CHECK(taken < 100'000);
            CHECK(v.out.empty());
        }
    }
}

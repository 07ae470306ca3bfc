#include "bridge/peers/offers.hpp"
#include "peers_scene.hpp"

#include <vector>

using namespace zklock;
using namespace zklock::test;
using bridge::peering::offers;
using answer = offers::answer;

namespace {

/// More than are remembered apart from those that are kept.
void let_others_go(offers& all, unsigned first, lease_clock::time_point when)
{
    for (unsigned i = first; i < first + 40; ++i) {
        all.offer(node(i));
        all.publish(node(i), {secret(i)}, when);
    }
}

} // namespace

TEST_SUITE("peers: offers")
{
    TEST_CASE("who subscribes to a node on offer is told when it is let go")
    {
        counters::counter told;
        offers all(told);
        all.offer(node(1));
        CHECK_FALSE(all.awaited(node(1)));
        CHECK(all.subscribe(node(1), 5, at(0s)) == answer::awaited);
        CHECK(all.subscribe(node(1), 6, at(0s)) == answer::added);
        CHECK(all.subscribe(node(1), 5, at(0s)) == answer::known);
        CHECK(all.awaited(node(1)));
        CHECK(all.subscribes(5));
        CHECK(all.publish(node(1), {secret(1)}, at(0s)) == std::vector<offers::peer_id>{5, 6});
        CHECK_FALSE(all.awaited(node(1)));
        CHECK_FALSE(all.subscribes(5));
        CHECK(all.publish(node(1), {secret(1)}, at(0s)).empty());
        CHECK(told.read() == 2);
    }

    TEST_CASE("who comes too late is told, once, for some seconds")
    {
        counters::counter told;
        offers all(told);
        all.offer(node(1));
        CHECK(all.publish(node(1), {secret(7), secret(1)}, at(0s)).empty());
        CHECK(all.subscribe(node(1), 5, at(1s)) == answer::gone);
        CHECK(all.kept_secrets(node(1)).size() == 2);
        CHECK(all.subscribe(node(1), 5, at(1s)) == answer::known);
        CHECK(all.subscribe(node(1), 6, at(4s)) == answer::gone);
        CHECK(all.subscribe(node(1), 7, at(5s)) == answer::unknown);
        CHECK_FALSE(all.subscribes(5));
        CHECK(told.read() == 2);
    }

    TEST_CASE("who subscribed to a node that is withdrawn is told nothing, and nor is who comes then")
    {
        counters::counter told;
        offers all(told);
        all.offer(node(1));
        CHECK(all.subscribe(node(1), 5, at(0s)) == answer::awaited);
        CHECK(all.withdraw(node(1), at(0s)) == std::vector<offers::peer_id>{5});
        CHECK(all.subscribe(node(1), 6, at(0s)) == answer::known);
        CHECK(all.kept_secrets(node(1)).empty());
        CHECK(all.withdraw(node(1), at(0s)).empty());
        CHECK(all.withdraw(node(9), at(0s)).empty());
        CHECK(all.subscribe(node(9), 6, at(0s)) == answer::unknown); // it never was on offer
        CHECK(told.read() == 0);
    }

    TEST_CASE("a node that is awaited no more is awaited again by the next")
    {
        counters::counter told;
        offers all(told);
        all.offer(node(1));
        CHECK(all.subscribe(node(1), 5, at(0s)) == answer::awaited);
        CHECK(all.unsubscribe(node(1), 5));
        CHECK_FALSE(all.unsubscribe(node(1), 5));
        CHECK_FALSE(all.awaited(node(1)));
        CHECK(all.subscribe(node(1), 6, at(0s)) == answer::awaited);
        all.forget(6);
        CHECK_FALSE(all.awaited(node(1)));
        CHECK(all.subscribe(node(1), 7, at(0s)) == answer::awaited);
    }

    TEST_CASE("a connection that ends takes back what it subscribed to, and nothing of others")
    {
        counters::counter told;
        offers all(told);
        for (unsigned i = 0; i < 10; ++i) {
            all.offer(node(i));
            CHECK(all.subscribe(node(i), 5, at(0s)) == answer::awaited);
            CHECK(all.subscribe(node(i), 6, at(0s)) == answer::added);
        }
        all.forget(5);
        all.forget(99);
        for (unsigned i = 0; i < 10; ++i)
            CHECK(all.publish(node(i), {secret(i)}, at(0s)) == std::vector<offers::peer_id>{6});
    }

    TEST_CASE("256 subscribe to a node, and no more")
    {
        counters::counter told;
        offers all(told);
        all.offer(node(1));
        for (offers::peer_id peer = 1; peer <= 256; ++peer)
            CHECK(all.subscribe(node(1), peer, at(0s)) != answer::full);
        CHECK(all.subscribe(node(1), 257, at(0s)) == answer::full);
        all.forget(3);
        CHECK(all.subscribe(node(1), 257, at(0s)) == answer::added);
        CHECK(all.publish(node(1), {secret(1)}, at(0s)).size() == 256);
        CHECK(all.subscribe(node(1), 300, at(0s)) == answer::full); // nor later
    }

    TEST_CASE("a connection subscribes to 1,024 nodes, and no more")
    {
        counters::counter told;
        offers all(told);
        for (unsigned number = 0; number <= 1024; ++number) all.offer(node(number));
        for (unsigned number = 0; number < 1024; ++number)
            CHECK(all.subscribe(node(number), 1, at(0s)) == answer::awaited);
        CHECK(all.subscribe(node(1024), 1, at(0s)) == answer::full);
        CHECK(all.subscribe(node(0), 1, at(0s)) == answer::known);
        CHECK(all.subscribe(node(1024), 2, at(0s)) == answer::awaited);
        CHECK(all.unsubscribe(node(0), 1));
        CHECK(all.subscribe(node(1024), 1, at(0s)) == answer::added);
        CHECK(all.publish(node(1), {}, at(0s)).size() == 1);
        CHECK(all.subscribe(node(0), 1, at(0s)) == answer::awaited);
    }

    TEST_CASE("no more than a thousand nodes are kept, the latest")
    {
        counters::counter told;
        offers all(told);
        constexpr auto most = static_cast<unsigned>(offers::most_kept);
        for (unsigned i = 0; i < 2 * most; ++i) {
            all.offer(node(i));
            all.publish(node(i), {secret(i)}, at(0s));
            if (i >= most)
                CHECK(all.subscribe(node(i - most), 5, at(0s)) == answer::unknown);
            if (i >= most - 20)
                CHECK(all.subscribe(node(i - (most - 20)), 5, at(0s)) == answer::gone);
            CHECK(all.subscribe(node(i), 6, at(0s)) == answer::gone);
            CHECK(all.kept_secrets(node(i)).size() == 1);
        }
    }

    TEST_CASE("those that were let go are forgotten in time, whatever is let go or on offer meanwhile")
    {
        counters::counter told;
        offers all(told);
        for (unsigned i = 0; i < 600; ++i) {
            const auto now = at(std::chrono::milliseconds{100 * i});
            all.offer(node(i));
            if (i % 3 == 0)
                continue; // it stays on offer
            all.publish(node(i), {secret(i)}, now);
            for (unsigned before = i < 100 ? 0 : i - 100; before <= i; ++before) {
                const answer found = all.subscribe(node(before), i + 1, now);
                if (before % 3 == 0)
                    CHECK((found == answer::added || found == answer::awaited));
                else
                    CHECK(found == (i - before < 50 ? answer::gone : answer::unknown));
            }
            all.forget(i + 1);
        }
        CHECK(all.publish(node(0), {secret(0)}, at(60s)).empty()); // who subscribed has gone
    }

    TEST_CASE("what is kept for some seconds is then not kept")
    {
        counters::counter told;
        offers all(told);
        let_others_go(all, 100, at(0s));
        CHECK(all.kept_secrets(node(100)).size() == 1);
        let_others_go(all, 200, at(4s));
        CHECK(all.kept_secrets(node(100)).size() == 1);
        let_others_go(all, 300, at(6s));
        CHECK(all.kept_secrets(node(100)).empty());
        CHECK(all.kept_secrets(node(200)).size() == 1);
    }

    TEST_CASE("a node that is offered again after it was let go is on offer, until it is let go again")
    {
        for (bool long_ago : {false, true}) {
            CAPTURE(long_ago);
            counters::counter told;
            offers all(told);
            all.offer(node(1));
            all.publish(node(1), {secret(1)}, at(0s));
            if (long_ago)
                let_others_go(all, 100, at(0s));
            all.offer(node(1));
            CHECK(all.subscribe(node(1), 7, at(0s)) == answer::awaited);
            let_others_go(all, 200, at(0s));
            CHECK(all.awaited(node(1)));
            CHECK(all.unsubscribe(node(1), 7));
            CHECK(all.subscribe(node(1), 8, at(0s)) == answer::awaited);
            all.forget(8);
            CHECK_FALSE(all.awaited(node(1)));
            CHECK(all.subscribe(node(1), 9, at(0s)) == answer::awaited);
            CHECK(all.publish(node(1), {secret(2)}, at(1s)) == std::vector<offers::peer_id>{9});
            let_others_go(all, 300, at(1s));
            REQUIRE(all.kept_secrets(node(1)).size() == 1);
            CHECK(all.kept_secrets(node(1)).front() == secret(2));
            CHECK(all.subscribe(node(1), 9, at(5s)) == answer::known);
            CHECK(all.subscribe(node(1), 8, at(5s)) == answer::gone);
            CHECK(all.subscribe(node(1), 7, at(6s)) == answer::unknown);
        }
    }
}

// No memory as nodes are put on offer, awaited and let go.
#include "bridge/peers/offers.hpp"
#include "peers_scene.hpp"
#include "support/failing_memory.hpp"

#include <new>
#include <vector>

using namespace zklock;
using namespace zklock::test;
using bridge::peering::offers;
using answer = offers::answer;

TEST_CASE("peers: memory fails once: the node of that moment is known no more, and all else is as it was")
{
    constexpr unsigned nodes = 150; // more than there is room for at first
    bool asked_before = false;
    SUBCASE("somebody asks before the nodes are there") { asked_before = true; }
    SUBCASE("somebody asks when they are all there") {}
    bool failed = true;
    unsigned lost = 0;
    for (int number = 1; failed && number < 5'000; ++number) {
        CAPTURE(number);
        counters::counter given;
        offers all(given);
        if (asked_before)
            CHECK(all.subscribe(node(9'999), 9, at(0s)) == answer::unknown);
        std::vector<offers::place> places(nodes);
        std::vector<char> offered(nodes), awaited(nodes), more(nodes), let_go(nodes); // as far as nothing was thrown
        {
            const short_of_memory now(number);
            const auto unless_it_fails = [](std::vector<char>& done, unsigned i, auto f) {
                try {
                    f();
                    done[i] = 1;
                } catch (const std::bad_alloc&) { // NOLINT: see `done`
                }
            };
            for (unsigned i = 0; i < nodes; ++i)
                unless_it_fails(offered, i, [&] { places[i] = all.offer(node(i)); });
            for (unsigned i = 0; i < nodes; i += 3)
                unless_it_fails(awaited, i, [&] { (void)all.subscribe(node(i), i % 2, at(0s)); });
            for (unsigned i = nodes; i < 2 * nodes; ++i) // more than the index has room for
                unless_it_fails(more, i - nodes, [&] { (void)all.offer(node(1'000 + i)); });
            for (unsigned i = 0; i < nodes; ++i)
                if (offered[i])
                    unless_it_fails(let_go, i, [&] { all.publish(places[i], secret(i), {}, at(0s)); });
            failed = short_of_memory::has_struck();
        }
        for (unsigned i = 0; i < nodes; ++i) {
            CAPTURE(i);
            CHECK(all.subscribe(node(i), 7, at(0s)) == (let_go[i] ? answer::gone : answer::unknown));
            lost += offered[i] && !let_go[i] ? 1 : 0;
            const auto on_offer = node(1'000 + nodes + i);
            CHECK(all.subscribe(on_offer, 7, at(0s)) == (more[i] ? answer::awaited : answer::unknown));
        }
        CHECK_FALSE(all.subscribes(0));
        CHECK_FALSE(all.subscribes(1));
        for (unsigned i = nodes; i < 3 * nodes; ++i) {
            const auto place = all.offer(node(i));
            CHECK(all.subscribe(node(i), 8, at(0s)) == answer::awaited);
            CHECK(all.publish(place, secret(i), {}, at(9s)) == std::vector<offers::peer_id>{8});
        }
        CHECK(all.subscribe(node(0), 7, at(9s)) == answer::unknown);
        CHECK(all.bucket_count() >= 2 * nodes);
    }
    CHECK_FALSE(failed);
    CHECK(lost > 10);
}

TEST_CASE("peers: without memory, who asks for a node that is not there finds none, unless he is the first of all")
{
    counters::counter given;
    offers all(given);
    (void)all.offer(node(1));
    const auto asks_without_memory = [&all] {
        const out_of_memory now;
        return all.subscribe(node(2), 5, at(0s));
    };
    CHECK_THROWS_AS(asks_without_memory(), std::bad_alloc);
    CHECK(all.subscribe(node(1), 6, at(0s)) == answer::awaited);
    CHECK(asks_without_memory() == answer::unknown);
    CHECK(all.awaited(node(1)));
}

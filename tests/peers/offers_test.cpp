#include "bridge/peers/offers.hpp"
#include "peers_scene.hpp"

#include <iterator>
#include <random>
#include <utility>

using namespace zklock::test;
using bridge::peering::offers;
using answer = offers::answer;

namespace {

constexpr std::size_t nodes_before = 8; // that are told along with one

/// Counts who is told, where that is not the question.
counters::counter unread;

std::vector<store::node_secret> as_vector(std::span<const store::node_secret> secrets)
{
    return {secrets.begin(), secrets.end()};
}

/// Nodes that are on offer, the first as 0; afterwards every second one is.
void check_each_is_found(offers& all, const std::vector<offers::place>& places)
{
    const auto count = static_cast<unsigned>(places.size());
    for (unsigned i = 0; i < count; ++i)
        CHECK(all.subscribe(node(i), 100 + i / 1000, at(0s)) == answer::awaited);
    CHECK(all.subscribe(node(count), 5, at(0s)) == answer::unknown);
    for (unsigned i = 0; i < count; i += 2)
        CHECK(all.publish(places[i], secret(i), {}, at(0s)).size() == 1);
    for (unsigned i = 0; i < count; ++i)
        CHECK(all.awaited(node(i)) == (i % 2 == 1));
}

} // namespace

TEST_SUITE("peers: offers")
{
    TEST_CASE("who subscribes to a node on offer is told when it is let go")
    {
        counters::counter told;
        offers all(told);
        const auto one = all.offer(node(1));
        CHECK_FALSE(all.awaited(one));
        CHECK(all.subscribe(node(1), 5, at(0s)) == answer::awaited);
        CHECK(all.subscribe(node(1), 6, at(0s)) == answer::added);
        CHECK(all.subscribe(node(1), 5, at(0s)) == answer::known);
        CHECK(all.awaited(one));
        CHECK(all.awaited(node(1)));
        CHECK(all.subscribes(5));
        CHECK(all.publish(one, secret(1), {}, at(0s)) == std::vector<offers::peer_id>{5, 6});
        CHECK_FALSE(all.awaited(one));
        CHECK_FALSE(all.awaited(node(1)));
        CHECK_FALSE(all.subscribes(5));
        CHECK(told.read() == 2);
    }

    TEST_CASE("who comes too late is told, once, for some seconds")
    {
        counters::counter told;
        offers all(told);
        const auto one = all.offer(node(1));
        CHECK(all.publish(one, secret(1), std::vector{secret(7)}, at(0s)).empty());
        CHECK(all.subscribe(node(1), 5, at(1s)) == answer::gone);
        CHECK(as_vector(all.kept_secrets(node(1))) == std::vector{secret(7), secret(1)});
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
        const auto one = all.offer(node(1));
        CHECK(all.subscribe(node(1), 5, at(0s)) == answer::awaited);
        CHECK(all.withdraw(one, at(0s)) == std::vector<offers::peer_id>{5});
        CHECK(all.subscribe(node(1), 6, at(0s)) == answer::known);
        CHECK(all.kept_secrets(node(1)).empty());
        CHECK(all.subscribe(node(9), 6, at(0s)) == answer::unknown); // it never was on offer
        CHECK(told.read() == 0);
    }

    TEST_CASE("a node that is awaited no more is awaited again by the next")
    {
        offers all(unread);
        (void)all.offer(node(1));
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
        offers all(unread);
        std::vector<offers::place> places;
        for (unsigned i = 0; i < 10; ++i) {
            places.push_back(all.offer(node(i)));
            CHECK(all.subscribe(node(i), 5, at(0s)) == answer::awaited);
            CHECK(all.subscribe(node(i), 6, at(0s)) == answer::added);
        }
        all.forget(5);
        all.forget(99);
        for (unsigned i = 0; i < 10; ++i)
            CHECK(all.publish(places[i], secret(i), {}, at(0s)) == std::vector<offers::peer_id>{6});
    }

    TEST_CASE("256 who subscribe to each node of a hot queue cost a bounded number of answers, and four are answered")
    {
        counters::counter told;
        offers all(told);
        constexpr unsigned nodes = 10'000; // one in each millisecond
        for (unsigned i = 0; i < nodes; ++i) {
            const auto now = at(1ms * i);
            const auto one = all.offer(node(i));
            for (offers::peer_id peer = 1; peer <= 256; ++peer) {
                const answer how = all.subscribe(node(i), peer, now);
                if (peer <= 4)
                    REQUIRE((how == answer::awaited || how == answer::added));
            }
            const auto subscribers = all.publish(one, secret(i), {}, now);
            REQUIRE(subscribers.size() >= 4);
            for (offers::peer_id peer = 257; peer <= 300; ++peer) // who come late
                (void)all.subscribe(node(i), peer, now);
        }
        CHECK(told.read() <= 4 * nodes + 4096 + 10 * 5'000);
        const auto crowd = all.offer(node(nodes)); // readers behind a writer, a second later
        for (offers::peer_id peer = 1; peer <= 256; ++peer)
            REQUIRE(all.subscribe(node(nodes), peer, at(11s)) != answer::full);
        CHECK(all.publish(crowd, secret(nodes), {}, at(11s)).size() == 256);
    }

    TEST_CASE("256 subscribe to a node, and no more")
    {
        offers all(unread);
        const auto one = all.offer(node(1));
        for (offers::peer_id peer = 1; peer <= 256; ++peer)
            CHECK(all.subscribe(node(1), peer, at(0s)) != answer::full);
        CHECK(all.subscribe(node(1), 257, at(0s)) == answer::full);
        all.forget(3);
        CHECK(all.subscribe(node(1), 257, at(0s)) == answer::added);
        CHECK(all.publish(one, secret(1), {}, at(0s)).size() == 256);
        CHECK(all.subscribe(node(1), 300, at(0s)) == answer::full); // nor later
    }

    TEST_CASE("a connection subscribes to 1,024 nodes, and no more")
    {
        offers all(unread);
        std::vector<offers::place> places;
        for (unsigned number = 0; number <= 1024; ++number)
            places.push_back(all.offer(node(number)));
        for (unsigned number = 0; number < 1024; ++number)
            CHECK(all.subscribe(node(number), 1, at(0s)) == answer::awaited);
        CHECK(all.subscribe(node(1024), 1, at(0s)) == answer::full);
        CHECK(all.subscribe(node(0), 1, at(0s)) == answer::known);
        CHECK(all.subscribe(node(1024), 2, at(0s)) == answer::awaited);
        CHECK(all.unsubscribe(node(0), 1));
        CHECK(all.subscribe(node(1024), 1, at(0s)) == answer::added);
        CHECK(all.withdraw(places[1], at(0s)).size() == 1);
        CHECK(all.subscribe(node(0), 1, at(0s)) == answer::awaited);
    }

    TEST_CASE("no more than 1,024 nodes are kept, the latest; the oldest 64 are forgotten at once")
    {
        offers all(unread);
        constexpr auto most = 1024U;
        for (unsigned i = 0; i < 3 * most; ++i) {
            all.publish(all.offer(node(i)), secret(i), {}, at(0s));
            constexpr auto at_once = 64U;
            const unsigned oldest = i < most ? 0 : (i - most) / at_once * at_once + at_once;
            if (oldest > 0) {
                CHECK(all.subscribe(node(oldest - 1), 5, at(0s)) == answer::unknown);
                CHECK(all.kept_secrets(node(oldest - 1)).empty());
            }
            CHECK(all.subscribe(node(oldest), 5, at(0s)) != answer::unknown);
            CHECK(as_vector(all.kept_secrets(node(oldest))) == std::vector{secret(oldest)});
            CHECK(all.subscribe(node(i), 3, at(0s)) == answer::gone);
        }
    }

    TEST_CASE("those that were let go are forgotten in time, whatever is let go or on offer meanwhile")
    {
        offers all(unread);
        offers::place first = 0;
        for (unsigned i = 0; i < 600; ++i) {
            const auto now = at(std::chrono::milliseconds{100 * i});
            const auto place = all.offer(node(i));
            if (i == 0)
                first = place;
            if (i % 3 == 0)
                continue; // it stays on offer
            all.publish(place, secret(i), {}, now);
            for (unsigned before = i < 100 ? 0 : i - 100; before <= i; ++before) {
                const answer found = all.subscribe(node(before), i + 1, now);
                if (before % 3 == 0)
                    CHECK((found == answer::added || found == answer::awaited));
                else
                    CHECK(found == (i - before < 50 ? answer::gone : answer::unknown));
            }
            all.forget(i + 1);
        }
        CHECK(all.publish(first, secret(0), {}, at(60s)).empty()); // who subscribed has gone
    }

    TEST_CASE("each node has the secrets that it was let go with, whatever else is let go and withdrawn in between")
    {
        std::mt19937 random(7); // NOLINT: the same each time
        const auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
        offers all(unread);
        std::array<std::vector<store::node_secret>, 3> of_paths;
        std::deque<std::pair<unsigned, std::vector<store::node_secret>>> expected;
        auto now = at(0s);
        CHECK(all.subscribe(node(99'999), 5, now) == answer::unknown); // from now on all are found
        for (unsigned i = 0; i < 4'000; ++i) {
            if (i / 1000 % 2 != 0) { // each is forgotten when ten others were let go
                now += 500ms;
                while (expected.size() > 9)
                    expected.pop_front();
            } else if (below(50) == 0) {
                now += 5s; // all are forgotten
                expected.clear();
            }
            const auto place = all.offer(node(i));
            auto& of_path = of_paths[below(100) < 90 ? i / 100 % 3 : below(3)];
            std::vector<store::node_secret> secrets;
            if (below(10) == 0) {
                all.withdraw(place, now);
            } else {
                const auto most = below(10) == 0 ? below(9) : 8U;
                secrets.assign(of_path.end() - std::min<std::ptrdiff_t>(most, std::ssize(of_path)), of_path.end());
                if (!secrets.empty() && below(20) == 0)
                    secrets[below(static_cast<unsigned>(secrets.size()))] = secret(100'000 + i); // of another client's
                all.publish(place, secret(i), secrets, now);
                secrets.push_back(secret(i));
                of_path.push_back(secret(i));
            }
            expected.emplace_back(i, std::move(secrets));
            if (expected.size() > 100)
                expected.pop_front();
            for (const auto& [number, its] : expected)
                REQUIRE(as_vector(all.kept_secrets(node(number))) == its);
        }
    }

    TEST_CASE("secrets of nodes that are forgotten are forgotten")
    {
        for (unsigned paths : {1U, 3U}) {
            CAPTURE(paths);
            offers all(unread);
            std::vector<std::vector<store::node_secret>> of_paths(paths);
            std::size_t most = 0;
            for (unsigned i = 0; i < 50'000; ++i) {
                auto& before = of_paths[i % paths];
                const auto now = at(std::chrono::milliseconds{i < 25'000 ? 0 : 7 * i});
                all.publish(all.offer(node(i)), secret(i), before, now);
                before.push_back(secret(i));
                if (before.size() > nodes_before)
                    before.erase(before.begin());
                most = std::max(most, all.secrets_there());
            }
            CHECK(most <= 2 * 1024 * (paths == 1 ? 1 : nodes_before + 1) + 100);
        }
    }

    TEST_CASE("a place serves again, and the next node there is on offer as if it were the first")
    {
        offers all(unread);
        std::set<offers::place> places;
        for (unsigned i = 0; i < 100; ++i) {
            const auto now = at(std::chrono::seconds{10 * i});
            const auto place = all.offer(node(i));
            places.insert(place);
            CHECK(all.id(place) == node(i));
            CHECK_FALSE(all.awaited(place));
            CHECK(all.kept_secrets(node(i)).empty());
            CHECK(all.subscribe(node(i), 5, now) == answer::awaited);
            CHECK(all.awaited(place));
            if (i > 0)
                CHECK_FALSE(all.unsubscribe(node(i - 1), 5));
            if (i > 1)
                CHECK(all.subscribe(node(i - 2), 5, now) == answer::unknown);
            const auto who = i % 2 == 0 ? all.publish(place, secret(i), {}, now) : all.withdraw(place, now);
            CHECK(who == std::vector<offers::peer_id>{5});
            CHECK(all.subscribe(node(i), 6, now) == (i % 2 == 0 ? answer::gone : answer::known));
        }
        CHECK(places.size() == 2);
    }

    TEST_CASE("who is the first to ask finds what is on offer or kept by then, and what comes after that")
    {
        constexpr auto most = 1024U;
        for (const unsigned let_go : {0U, 10U, 200U, most + 10, 3 * most}) {
            CAPTURE(let_go);
            offers all(unread);
            const auto earlier = all.offer(node(90'000));
            for (unsigned i = 0; i < let_go; ++i)
                all.publish(all.offer(node(i)), secret(i), {}, at(0s));
            CHECK_FALSE(all.awaited(node(90'000)));
            CHECK_FALSE(all.unsubscribe(node(90'000), 5));
            CHECK(all.kept_secrets(node(0)).empty()); // nobody has asked
            CHECK(all.subscribe(node(90'000), 5, at(1s)) == answer::awaited);
            CHECK(all.awaited(earlier));
            unsigned kept = 0;
            for (unsigned i = 0; i < let_go; ++i) {
                const bool known = all.subscribe(node(i), 6, at(1s)) == answer::gone;
                CHECK((known ? as_vector(all.kept_secrets(node(i))) == std::vector{secret(i)} : kept == 0));
                kept += known ? 1 : 0;
            }
            CHECK(kept <= most);
            CHECK(kept >= std::min(let_go, most - 64U));
            const auto later = all.offer(node(90'001));
            CHECK(all.subscribe(node(90'001), 5, at(1s)) == answer::awaited);
            for (const auto each : {earlier, later})
                CHECK(all.publish(each, secret(1), {}, at(1s)) == std::vector<offers::peer_id>{5});
            CHECK(all.publish(all.offer(node(90'002)), secret(2), {}, at(6s)).empty()); // all the others are forgotten
            for (unsigned i = 0; i < let_go; ++i)
                CHECK(all.subscribe(node(i), 7, at(6s)) == answer::unknown);
            CHECK(all.subscribe(node(90'002), 7, at(6s)) == answer::gone);
        }
    }

    TEST_CASE("however many nodes are on offer when somebody asks first, each is found, and those alone")
    {
        for (const unsigned before : {0U, 1U, 64U, 100U, 5'000U, 10'000U}) {
            CAPTURE(before);
            offers all(unread);
            std::vector<offers::place> places;
            const auto offer_until = [&](unsigned end) {
                for (auto i = static_cast<unsigned>(places.size()); i < end; ++i)
                    places.push_back(all.offer(node(i)));
            };
            offer_until(before);
            CHECK(all.bucket_count() == 0);
            CHECK(all.subscribe(node(99'999), 1, at(0s)) == answer::unknown);
            CHECK(all.bucket_count() >= before);
            offer_until(10'000);
            CHECK(all.bucket_count() >= 10'000);
            CHECK(all.bucket_count() < 20'000);
            check_each_is_found(all, places);
        }
    }
}

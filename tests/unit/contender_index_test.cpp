#include "queue/contender.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace zklock;

namespace {

std::size_t comparisons = 0;

struct counted_order {
    bool operator()(const queue::contender& a, const queue::contender& b) const
    {
        ++comparisons;
        return a.id < b.id;
    }
};
using counted_index = queue::contender_index<counted_order, true>;

std::vector<queue::contender> contenders(std::size_t count)
{
    std::vector<queue::contender> all(count);
    for (std::size_t i = 0; i < count; ++i)
        all[i].id = i + 1;
    return all;
}

bool in_order(const counted_index& all)
{
    return std::is_sorted(all.begin(), all.end(), queue::by_id());
}

} // namespace

TEST_CASE("contenders of a phase are in order, however they come and go")
{
    std::vector<queue::contender> all = contenders(200);
    std::vector<queue::contender*> coming;
    for (queue::contender& c : all)
        coming.push_back(&c);
    std::mt19937 random(7);
    std::shuffle(coming.begin(), coming.end(), random);
    counted_index phase;
    for (std::size_t i = 0; i < coming.size(); ++i) {
        phase.add(*coming[i]);
        if (i % 3 == 2) {
            phase.remove(*coming[i - random() % 3]); // the last, too
            CHECK(phase.size() == i + 1 - (i + 1) / 3);
        }
        REQUIRE(in_order(phase));
    }
    while (!phase.empty())
        phase.remove(*phase.begin());
}

TEST_CASE("many contenders who come to stand before many others are not compared with all of them")
{
    std::vector<queue::contender> all = contenders(20'000);
    const auto half = all.begin() + 10'000;
    counted_index phase;
    for (auto later = half; later != all.end(); ++later)
        phase.add(*later);
    comparisons = 0;
    for (auto earlier = all.begin(); earlier != half; ++earlier)
        phase.add(*earlier);
    CHECK(comparisons < 6 * 10'000);
    CHECK(in_order(phase));
    comparisons = 0;
    for (std::size_t i = 0; i != 10'000; ++i) { // one at the end, and one at the front, that was there before
        queue::contender& first = *phase.begin();
        queue::contender& last = *std::prev(phase.end());
        phase.remove(last);
        phase.remove(first);
        phase.add(last);
        phase.add(first);
    }
    CHECK(comparisons < 8 * 10'000);
    CHECK(in_order(phase));
    while (!phase.empty())
        phase.remove(*std::prev(phase.end()));
}

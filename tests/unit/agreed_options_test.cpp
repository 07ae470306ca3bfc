// Which options hold for a path: what others claim, as long as one of them lives. Those without claims are forgotten.
#include "adapter/client/agreed_options.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace {

using agreed = zklock::detail::agreed_options<std::string>;

} // namespace

TEST_CASE("what the first claims holds until the last who shares it has gone")
{
    agreed all;
    agreed::claim first = all.claim_path("/a", "one");
    CHECK(*first == "one");
    agreed::claim same = all.claim_path("/a", "one");
    CHECK(same == first);
    CHECK(*all.claim_path("/a", "two") == "one");
    CHECK(*all.claim_path("/b", "two") == "two");
    first = nullptr;
    CHECK(*all.claim_path("/a", "two") == "one");
    same = nullptr;
    const agreed::claim other = all.claim_path("/a", "two");
    CHECK(*other == "two");
    CHECK(*all.claim_path("/a", "one") == "two");
}

TEST_CASE("100,000 paths, each claimed for a moment: nothing is kept of them")
{
    agreed all;
    for (int i = 0; i < 100'000; ++i) {
        const agreed::claim moment = all.claim_path("/orders/" + std::to_string(i), "usual");
        REQUIRE(all.size() == 1);
    }
}

TEST_CASE("paths that are claimed for good are kept among those that are not, of which no more are")
{
    agreed all;
    std::vector<agreed::claim> kept;
    std::size_t most = 0;
    for (int i = 0; i < 100'000; ++i) {
        agreed::claim one = all.claim_path("/orders/" + std::to_string(i), "usual");
        if (i % 100 == 0)
            kept.push_back(std::move(one));
        most = std::max(most, all.size());
    }
    CHECK(most <= 2 * kept.size() + 2);
    for (int i = 0; i < 100'000; i += 100)
        REQUIRE(*all.claim_path("/orders/" + std::to_string(i), "another") == "usual");

    // When they go, each look at another path forgets some.
    kept.clear();
    const agreed::claim last = all.claim_path("/last", "usual");
    for (std::size_t left = all.size(); left != 1; left = all.size()) {
        CHECK(*all.claim_path("/last", "another") == "usual");
        REQUIRE(all.size() < left);
    }
}

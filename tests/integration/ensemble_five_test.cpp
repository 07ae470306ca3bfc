// sanitizers: none
// program: tls
// Five servers: two may be gone at once, the leader and the holder's among them.
#include "integration/ensemble_scene.hpp"

using namespace zklock::test;

namespace {

zookeeper_ensemble& ensemble()
{
    static zookeeper_ensemble five(5);
    return five;
}

} // namespace

TEST_CASE("two of five are killed together: lock and order are kept, and all have their turns")
{
    const auto body = []() -> awaitable<void> {
        const std::size_t leader = ensemble().leader();
        const std::size_t holder_at = ensemble().follower();
        crowd all;
        co_await gather(ensemble(), all, holder_at);
        ensemble()[leader].kill();
        ensemble()[holder_at].kill();
        co_await disperse(all);
        for (std::size_t i = 0; i < ensemble().size(); ++i)
            if (ensemble()[i].running())
                co_await nothing_left(ensemble()[i].port());
        ensemble()[leader].start();
        ensemble()[holder_at].start();
        ensemble().wait_all();
        co_await nothing_left_anywhere(ensemble());
        co_await close_all(all);
    };
    run_test(test_limit, body);
    expect_clean(ensemble());
}

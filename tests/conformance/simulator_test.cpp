// Whether the simulated ZooKeeper is true to the real one where several things come together: requests in flight at
// once, watches among them, an administrator who writes too, lost connections, sessions that end. Random steps are
// done on both, and what each client is told has to be the same, line by line.
#include "conformance/replay.hpp"

#include <cstdlib>
#include <random>

using namespace zklock::conformance;

TEST_CASE("whatever is done to both, the simulated ZooKeeper and a real one tell the same")
{
    std::vector<std::uint64_t> seeds = {1, 2, 3, 4, 5, std::random_device{}()};
    if (const char* wanted = std::getenv("ZKLOCK_SEED"))
        seeds = {std::strtoull(wanted, nullptr, 10)};
    real_side real;
    simulated_side simulated(seeds.back(), real.exists_needs_read());
    pairing zxids, owners;
    std::size_t batches_done = 0, batches_undone = 0;
    for (const std::uint64_t seed : seeds) {
        std::cout << "simulated and real ZooKeeper: seed " << seed << '\n';
        replay r(real, simulated, zxids, owners, seed);
        r.run(200);
        batches_done += r.batches_done;
        batches_undone += r.batches_undone;
    }
    CHECK(batches_done > 10);
    CHECK(batches_undone > 10);
    CHECK(zxids.in_order());
    CHECK(zxids.size() > 20);
    CHECK(owners.size() > clients);
}

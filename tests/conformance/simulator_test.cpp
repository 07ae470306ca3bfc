// Whether the simulated ZooKeeper, and that of zklock::testing, are true to the real one where several things come
// together: requests in flight at once, watches among them, an administrator who writes too, lost connections, sessions
// that end. Random steps are done on both, and what each client is told has to be the same, line by line.
#include "conformance/memory_side.hpp"
#include "conformance/replay.hpp"

#include <cstdlib>

using namespace zklock::conformance;

namespace {

/// `make_other` is told whether `exists` needs the permission to read.
template <class Make> void compare(const char* name, Make make_other)
{
    std::vector<std::uint64_t> seeds = {1, 2, 3, 4, 5, std::random_device{}()};
    if (const char* wanted = std::getenv("ZKLOCK_SEED"))
        seeds = {std::strtoull(wanted, nullptr, 10)};
    real_side real;
    const std::unique_ptr<side> other = make_other(seeds.back(), real.exists_needs_read());
    pairing zxids, owners;
    std::size_t batches_done = 0, batches_undone = 0;
    for (const std::uint64_t seed : seeds) {
        std::cout << name << " and a real ZooKeeper: seed " << seed << '\n';
        replay r(real, *other, zxids, owners, seed);
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

} // namespace

TEST_CASE("whatever is done to both, the simulated ZooKeeper and a real one tell the same")
{
    const auto make = [](std::uint64_t seed, bool exists_needs_read) {
        return std::make_unique<simulated_side>(seed, exists_needs_read);
    };
    compare("a simulated", make);
}

TEST_CASE("whatever is done to both, zklock::testing's ZooKeeper and a real one tell the same")
{
    const auto make = [](std::uint64_t, bool exists_needs_read) {
        return std::make_unique<memory_side>(exists_needs_read);
    };
    compare("an ensemble in memory", make);
}

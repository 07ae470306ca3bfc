#include "connector/schedule.hpp"
#include "mutants/mutants.hpp"
#include "support/fresh_seed.hpp"
#include "support/sanitized.hpp"

#include <sstream>

namespace zklock::connecting {
namespace {

/// The rule that is broken by the schedule of that seed, if one is.
std::optional<std::string> broken_by(unsigned seed, std::ostream* trace = nullptr)
{
    try {
        schedule(seed, trace).play();
        return std::nullopt;
    } catch (const violation& rule) {
        return rule.what();
    }
}

/// What happened last in the schedule of that seed.
std::string end_of(unsigned seed)
{
    std::ostringstream trace;
    broken_by(seed, &trace);
    const std::string all = trace.str();
    constexpr std::size_t most = 4000;
    return all.size() <= most ? all : all.substr(all.find('\n', all.size() - most));
}

unsigned first_seed()
{
    return static_cast<unsigned>(test::fresh_seed());
}

} // namespace

TEST_CASE("schedules of servers, names and resolvers that fail: rules and limits are kept, and who can be reached is")
{
    unsigned seed = first_seed();
    for (auto left = test::scaled(3000); left != 0; --left, ++seed) {
        const auto rule = broken_by(seed);
        if (rule)
            FAIL(*rule, ": ZKLOCK_TEST_SEED=", seed, " begins with it\n", end_of(seed));
    }
}

TEST_CASE("schedules find the known bugs")
{
    const unsigned seed = first_seed();
    for (const auto& mutant : mutants::all) {
        mutants::active = mutant.which;
        unsigned tried = 0;
        while (tried < 3000 && !broken_by(seed + tried))
            ++tried;
        mutants::active = mutants::id::none;
        CHECK_MESSAGE(tried < 3000, "ZKLOCK_TEST_SEED=", seed, " does not find ", mutant.name);
    }
}

} // namespace zklock::connecting

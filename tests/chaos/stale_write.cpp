#include "chaos/programs.hpp"

#include "chaos/scene.hpp"

#include <iostream>

namespace zklock::chaos {
namespace {

constexpr milliseconds limit{120'000};

} // namespace

int run_stale_write(std::uint64_t seed)
{
    scene s({.clients = 2, .seed = seed});
    constexpr std::size_t victim = 0;
    const auto await = [&](const char* what, auto holds) {
        test::wait_until(what, limit, [&] {
            s.pass(milliseconds(50));
            return holds();
        });
    };
    s.make_stop_before_write(victim);
    await("a holder stands still before its write", [&] { return s.stopped_before_write(victim); });
    await("the next holder has written", [&] { return s.overtaken(victim); });
    s.resume_client(victim);
    std::vector<std::string> found;
    try {
        await("the stale write is refused", [&] { return s.refused_after_stop() > 0; });
    } catch (const client_ended&) {
        throw; // worse than a missed time
    } catch (const std::exception& e) {
        found.push_back(e.what());
    }
    s.heal();
    s.finish(found);
    auto h = s.take_history();
    h.patience = in_nanoseconds(std::chrono::seconds(60));
    for (auto& v : violations(h))
        found.push_back(std::move(v));
    const auto writes = summarise(h);
    std::cout << writes.refused_after_stop << " stale writes refused, " << writes.accepted_after_stop
              << " writes after a stop accepted, " << writes.accepted << " writes accepted in all\n";
    for (const auto& v : found)
        std::cout << "VIOLATION " << v << '\n';
    if (!found.empty())
        std::cout << s.output();
    return found.empty() && writes.refused_after_stop != 0 && writes.accepted_after_stop == 0 ? 0 : 1;
}

} // namespace zklock::chaos

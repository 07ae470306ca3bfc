// What the harness needs done on the servers around a measurement.
#include "c_client/raw.hpp"

namespace zklock::bench {

namespace {

/// Creates the path and, below it, as many as are asked for, named by their numbers.
class prepare : public raw_scene {
public:
    using raw_scene::raw_scene;

    report measure() override
    {
        std::int64_t missing = asked_.number("paths", 0);
        for (std::int64_t i = 0, all = missing; i < all; ++i)
            session_->create(path() + "/" + std::to_string(i), 0, [&missing](int code, const char*) {
                check(code, "create");
                --missing;
            });
        loop_.run_until([&] { return missing == 0; });
        return {};
    }
};

/// Waits until the path has no more than so many children, and tells when that was seen.
class until_children : public raw_scene {
public:
    using raw_scene::raw_scene;

    report measure() override
    {
        report found;
        const auto limit = steady_clock::now() + std::chrono::minutes{1};
        for (bool enough = false; !enough;) {
            bool answered = false;
            session_->exists(path(), [&](int code, const Stat* stat) {
                check(code, "exists");
                answered = true;
                enough = stat->numChildren <= asked_.number("children");
            });
            loop_.run_until([&] { return answered; });
            if (enough)
                found.figures["seen_ns"] = monotonic_ns();
            else if (steady_clock::now() > limit)
                throw std::runtime_error("nodes were left under " + path());
            else
                loop_.run_for(std::chrono::milliseconds{1});
        }
        return found;
    }
};

} // namespace

std::unique_ptr<workload> make_raw_service(const request& asked)
{
    if (asked.workload == "prepare")
        return std::make_unique<prepare>(asked);
    if (asked.workload == "until_children")
        return std::make_unique<until_children>(asked);
    return nullptr;
}

} // namespace zklock::bench

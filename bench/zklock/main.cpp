// The driver of zklock: programs against the public headers only, as its users do.
#include "zklock/scene.hpp"

int main()
{
    using namespace zklock::bench;
    return serve([](const request& asked) {
        auto subject = make_apart_workload(asked);
        if (!subject)
            subject = make_latency_workload(asked);
        if (!subject)
            subject = make_rate_workload(asked);
        if (!subject)
            subject = make_multitude_workload(asked);
        if (!subject)
            subject = make_fleet_workload(asked);
        return subject;
    });
}

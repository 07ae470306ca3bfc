// The driver of the plain C client: what is measured with it is the floor under every lock.
#include "c_client/raw.hpp"

int main()
{
    using namespace zklock::bench;
    return serve([](const request& asked) {
        auto subject = make_raw_apart_workload(asked);
        if (!subject)
            subject = make_raw_latency_workload(asked);
        if (!subject)
            subject = make_raw_rate_workload(asked);
        if (!subject)
            subject = make_raw_service(asked);
        if (!subject)
            subject = make_raw_fleet(asked);
        return subject;
    });
}

// The protocol, driven through any order of events that callers, other clients, operators and the network can bring
// about.
#include "queue_world.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    zklock::fuzz::input in(data, size);
    zklock::fuzz::queue_world world(in);
    while (!in.empty())
        world.step();
    world.settle();
    return 0;
}

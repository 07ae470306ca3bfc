// Nodes that the client may not read: servers from 3.8.4 and 3.9.2 on do not even tell it that they exist.
#include "container_scene.hpp"

#include <optional>
#include <string>

using namespace zklock;
using namespace zklock::unit;

namespace {

/// Everything goes well up to the next request of that kind.
void answer_up_to(scene& s, const std::string& kind)
{
    while (!s.servers.requests.front().what.starts_with(kind))
        s.answer(outcome::ok);
}

} // namespace

TEST_SUITE("unreadable nodes")
{
    TEST_CASE(
        "a downgrade that is refused when it is repeated, and a reader's node that is there, but not for us to see: "
        "it was done")
    {
        connected_scene s;
        const auto a = s.hold_as_writer("/p");
        const std::string reader = scene::downgraded("/p");
        std::optional<error_code> downgraded;
        CHECK(a->handle->downgrade([&](error_code ec, const recipes::grant&) { downgraded = ec; }));
        s.answer(outcome::unknown);
        s.servers.observer->on_disconnected();
        s.connect(5, false);
        answer_up_to(s, "batch ");
        s.answer(outcome::no_auth);
        answer_up_to(s, "exists ");
        s.answer(outcome::no_auth);
        CHECK(downgraded == error_code());
        s.release(*a);
        CHECK(s.servers.pending() == "remove " + reader);
    }

    TEST_CASE("a container that may not be looked at any more is left to the servers, and not asked for again")
    {
        container_scene s;
        s.use("/p");
        s.come_to_rest();
        answer_up_to(s, "exists ");
        s.answer(outcome::no_auth);
        CHECK(s.servers.pending() == "unwatch /p");
        s.answer(outcome::ok);
        s.come_to_rest();
        CHECK(s.servers.pending() == "");
    }
}

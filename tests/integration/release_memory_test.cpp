// sanitizers: none
// program: memory
// A release that finds that others had deleted the node, where memory fails: the loss is told all the same. There are
// no servers; it is in a program of such tests for the operator new that it brings.
#include "unit/without_memory.hpp"
#include "unit/semaphore_scene.hpp"

#include <optional>
#include <string>

using namespace zklock;
using namespace zklock::unit;

namespace {

/// Has the session tell so much at once that what it tells next needs memory.
void use_up_news(scene& s)
{
    for (int i = 0; i < 16; ++i)
        s.session->tell(s.session->make_slot(), [] {});
}

} // namespace

TEST_CASE("a lock: the event of the node's end is heard first, and then there is no memory for the answer")
{
    for (const bool heard : {true, false}) {
        CAPTURE(heard);
        play_without_memory([&](const auto& without_memory) {
            connected_scene s;
            const auto a = s.hold("/p", 3);
            const std::string node = "/p/" + scene::node(1, 3);
            a->handle->on_revoked([] {});
            s.clock.run();
            asked(s).to("watch " + node).show(5, "me");
            a->handle->release([&](error_code ec) {
                CHECK_FALSE(a->released);
                a->released = ec;
            });
            s.clock.run();
            if (heard) {
                s.servers.observer->on_node_event(store::event_kind::deleted, node);
                s.clock.run();
            }
            const auto remove = s.servers.take();
            CHECK(remove.what == "remove " + node);
            use_up_news(s);
            without_memory([&] { answer_as_the_bridge(s, remove, outcome::no_node); });
            const bool given_up = s.servers.given_up;
            give_up_if_wanted(s);
            if (given_up) {
                s.connect(5, false);
                while (!a->released && !s.servers.requests.empty()) // how a client begins anew is not the subject
                    s.answer_oldest(outcome::no_node);
            }
            CHECK(a->released == make_error_code(errc::lost));
        });
    }
}

TEST_CASE("a permit: there is no memory for the answer")
{
    play_without_memory([](const auto& without_memory) {
        semaphore_scene s;
        const auto held = s.want(1, permits_of(3));
        s.give_line();
        asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
        asked(s).to("children /s/leases").list({s.permit(2, 7)});
        REQUIRE(held->ended == error_code());
        asked(s).to(s.leave_line(1)).ends(outcome::ok).nothing_else();
        std::optional<error_code> released;
        held->handle->release([&](error_code ec) {
            CHECK_FALSE(released);
            released = ec;
        });
        s.clock.run();
        const auto remove = s.servers.take();
        CHECK(remove.what == "remove " + s.permit_node(2, 7));
        use_up_news(s);
        without_memory([&] { answer_as_the_bridge(s, remove, outcome::no_node); });
        const bool given_up = s.servers.given_up;
        give_up_if_wanted(s);
        if (given_up) {
            s.connect(5, false);
            while (!released && !s.servers.requests.empty())
                s.answer_oldest(outcome::no_node);
        }
        CHECK(released == make_error_code(errc::lost));
    });
}

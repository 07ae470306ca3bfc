// The nodes of waiters go with their session, and an event of that may be heard before its end: others are not blamed.
#include "semaphore_scene.hpp"

using namespace zklock::unit;

namespace {

struct stopped_scene : semaphore_scene {
    std::vector<std::string> lines;

    stopped_scene() : semaphore_scene(keep_log(lines)) {}

    /// The process stood still for longer than the servers keep the session; then it hears what they said meanwhile.
    void is_stopped_until_the_end_of(const std::string& node)
    {
        lines.clear();
        clock.skip(15s);
        event(store::event_kind::deleted, node);
    }
    void check_blames_nobody() const
    {
        for (const std::string& line : lines)
            CHECK(line.find("somebody else") == line.npos);
        REQUIRE(!lines.empty());
        CHECK(lines.front().starts_with("most likely the servers have ended the session, of which nothing was heard "
                                        "for 15.000 s, and with it the node of a waiter for "));
    }
};

} // namespace

TEST_CASE("a mutex; its last attempt ends with that")
{
    stopped_scene s;
    const auto once = with(&mutex_options::max_attempts, 1);
    const auto a = s.acquire("/p", once);
    asked(s).to("create /p/" + prefix(1)).number(101, 1).to("watch /p").show(two_children());
    asked(s).to("children /p").list({"_c_x-lock-0000000000", s.node(1, 1)});
    asked(s).to("watch /p/" + s.node(1, 1)).show(5, "me").to("watch /p/_c_x-lock-0000000000").show(9, "they");
    s.is_stopped_until_the_end_of("/p/" + s.node(1, 1));
    s.check_blames_nobody();
    CHECK(a->ended == errc::session_expired);
}

TEST_CASE("the servers were silent for longer than a lease, and not long enough to end the session")
{
    stopped_scene s;
    const auto a = s.enqueue("/p", 1);
    s.lines.clear();
    s.clock.skip(9s);
    s.event(store::event_kind::deleted, "/p/" + s.node(1, 1));
    REQUIRE(!s.lines.empty());
    CHECK(s.lines.front() ==
          "the lease was not renewed in time, and the servers, last heard 9.000 s before, tell of the "
          "end of the node of a waiter for /p, which has lost its place: " +
              s.node(1, 1));
}

TEST_CASE("a semaphore, at the head of its line; its last attempt ends with that")
{
    stopped_scene s;
    auto once = permits_of(1);
    once.max_attempts = 1;
    const auto a = s.want_at_head(1, once);
    asked(s).to("create " + s.permit_prefix(2)).number(70, 8);
    asked(s).to("children /s/leases").list({s.permit(2, 8), s.permit(90, 7)});
    asked(s).to("watch children /s/leases").list({s.permit(2, 8), s.permit(90, 7)});
    s.is_stopped_until_the_end_of(s.permit_node(2, 8));
    s.check_blames_nobody();
    CHECK(a->ended == errc::session_expired);
}

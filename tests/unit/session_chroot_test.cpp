// A new session below a chroot, whose node is, or is not, that of the session before.
#include "session_scene.hpp"

using namespace zklock::unit;

namespace {

struct chroot_scene : scene {
    std::string warnings;

    explicit chroot_scene(bool there = true)
    {
        options.chroot = "/app";
        options.log = store::leveled_log{log_level::warning,
                                         [this](log_level, std::string_view line) { warnings.append(line) += '\n'; }};
        start();
        connect(5);
        if (there)
            asked(*this).to("exists /").czxid(7);
        else
            asked(*this).to("exists /").ends(outcome::no_node);
    }
    /// What was held is lost; another session has number 6.
    void expire()
    {
        end_session();
        connect(6);
    }
    [[nodiscard]] bool asked_for_the_lock()
    {
        const auto& all = servers.requests;
        return std::any_of(all.begin(), all.end(), [](const auto& r) { return r.what.starts_with("create /p/"); });
    }
    /// Another node was found: nothing is granted before the session of before should be over, and then it is.
    void waits_for_the_session_before()
    {
        CHECK(warnings.find("another ensemble") != std::string::npos);
        clock.pass(10s); // the time-out
        CHECK_FALSE(asked_for_the_lock());
        CHECK(session->state() == connection_state::connecting);
        clock.pass(5s); // margin and tick
        asked(*this).to("batch check /").ends(outcome::ok);
        CHECK(asked_for_the_lock());
        CHECK(session->state() == connection_state::connected);
    }
};

} // namespace

TEST_CASE("the first session looks at it, and nobody waits for that")
{
    connected_scene s(with(&client_options::chroot, "/app"));
    const auto a = s.acquire("/p");
    asked(s).all_of({"exists /", "create /p/" + prefix(1), "watch /p"});
}
TEST_CASE("without one nothing is asked")
{
    connected_scene s;
    asked(s).nothing_else();
}
TEST_CASE("the same node: the next session grants once that is known")
{
    chroot_scene s;
    s.expire();
    const auto a = s.acquire("/p");
    CHECK_FALSE(s.asked_for_the_lock());
    asked(s).to("exists /").czxid(7);
    CHECK(s.asked_for_the_lock());
    CHECK(s.warnings.empty());
}
TEST_CASE("another node: nothing is granted before the session of before should be over, and then it is")
{
    for (const bool gone : {false, true}) {
        CAPTURE(gone);
        chroot_scene s;
        s.expire();
        const auto a = s.acquire("/p");
        if (gone)
            asked(s).to("exists /").ends(outcome::no_node);
        else
            asked(s).to("exists /").czxid(8);
        s.waits_for_the_session_before();
    }
}
TEST_CASE("a chroot that the first session did not find may be another ensemble's, too")
{
    chroot_scene s(false);
    s.expire();
    const auto a = s.acquire("/p");
    asked(s).to("exists /").czxid(8);
    s.waits_for_the_session_before();
}
TEST_CASE("a chroot that is not there yet delays nothing")
{
    chroot_scene s(false);
    s.expire();
    const auto a = s.acquire("/p");
    asked(s).to("exists /").ends(outcome::no_node);
    CHECK(s.asked_for_the_lock());
    CHECK(s.warnings.empty());
}
TEST_CASE("another node: a reconnect meanwhile changes nothing")
{
    chroot_scene s;
    s.expire();
    const auto a = s.acquire("/p");
    asked(s).to("exists /").czxid(8);
    s.clock.pass(3s);
    s.servers.observer->on_disconnected();
    s.connect(6, false);
    s.clock.pass(5s);
    CHECK_FALSE(s.asked_for_the_lock());
    s.clock.pass(7s);
    asked(s).to("batch check /").ends(outcome::ok);
    CHECK(s.asked_for_the_lock());
}
TEST_CASE("an answer that is lost, or is none: looked at again, or left alone")
{
    chroot_scene s;
    s.expire();
    asked(s).to("exists /").ends(outcome::unknown);
    s.servers.observer->on_disconnected();
    s.connect(6, false);
    const auto a = s.acquire("/p");
    CHECK_FALSE(s.asked_for_the_lock());
    asked(s).to("exists /").ends(outcome::no_auth);
    CHECK(s.asked_for_the_lock());
    CHECK(s.warnings.empty());
}
TEST_CASE("long after the session should have been over, another node delays nothing")
{
    chroot_scene s;
    s.servers.observer->on_disconnected();
    s.clock.pass(1min);
    s.servers.observer->on_expired();
    s.connect(6);
    const auto a = s.acquire("/p");
    asked(s).to("exists /").czxid(8);
    CHECK(s.asked_for_the_lock());
    CHECK(s.warnings.find("another ensemble") != std::string::npos);
}
TEST_CASE("another node: a third session waits for the first one, too")
{
    chroot_scene s;
    s.expire();
    asked(s).to("exists /").czxid(8);
    s.clock.pass(1s);
    s.end_session();
    s.connect(7);
    const auto a = s.acquire("/p");
    asked(s).to("exists /").czxid(8);
    CHECK_FALSE(s.asked_for_the_lock());
    s.clock.pass(14s);
    asked(s).to("batch check /").ends(outcome::ok);
    CHECK(s.asked_for_the_lock());
}

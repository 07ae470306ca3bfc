// The event of an acquire that queues names whom it waits behind. Nothing is asked for that.
#include "journal.hpp"
#include "waiting_scene.hpp"

using namespace zklock::unit;

namespace {

struct listening_scene : waiting_scene {
    std::shared_ptr<journal> told = std::make_shared<journal>();

    mutex_options heard() { return with(&mutex_options::listener, told); }
    /// The node before the one that was queued last, and no other event was told.
    zklock::contender behind()
    {
        REQUIRE(told->events.size() == 1);
        const lock_event e = told->events.front();
        told->events.clear();
        CHECK(e.what == lock_event::kind::queued);
        REQUIRE(e.behind);
        return *e.behind;
    }
};

const std::string reader_of_theirs = "_c_x-__READ__0000000001";
const std::string writer_of_theirs = "_c_y-__WRIT__0000000000";

} // namespace

TEST_CASE("another client's node: as it is read where it is watched")
{
    listening_scene s;
    const auto a = s.acquire("/p", s.heard());
    asked(s).to("create /p/" + prefix(1)).number(101, 1).to("watch /p").show(two_children());
    asked(s).to("children /p").list({theirs, s.node(1, 1)});
    CHECK(s.told->text() == "");
    asked(s).all_of({"watch /p/" + s.node(1, 1), "watch /p/" + theirs});
    asked(s).to("watch /p/" + theirs).show(9, "they\nrow=7");
    const zklock::contender before = s.behind();
    CHECK(before.node == "/p/" + theirs);
    CHECK(before.sequence == 0);
    CHECK(before.session_id == 9);
    CHECK(before.identifier == "they");
    CHECK(before.properties.at("row") == "7");
    CHECK_FALSE(before.ours);
    asked(s).to("watch /p/" + s.node(1, 1)).show(5, "me").nothing_else();
    s.event(store::event_kind::deleted, "/p/" + theirs);
    CHECK(s.told->text() == "1 acquired");
    CHECK_FALSE(s.told->last.behind);
}

TEST_CASE("it goes before it can be read: nobody is named")
{
    listening_scene s;
    const auto a = s.acquire("/p", s.heard());
    asked(s).to("create /p/" + prefix(1)).number(101, 1).to("watch /p").show(two_children());
    asked(s).to("children /p").list({theirs, s.node(1, 1)});
    asked(s).to("watch /p/" + theirs).ends(outcome::no_node);
    CHECK(s.told->text() == "");
    asked(s).to("watch /p/" + s.node(1, 1)).show(5, "me");
    REQUIRE(s.told->events.size() == 2);
    CHECK_FALSE(s.told->events.front().behind);
    CHECK(s.told->text() == "1 queued, 1 acquired");
}

TEST_CASE("one of ours; and another client's between two of ours, by its name")
{
    listening_scene s;
    const auto held = s.hold("/p", 0);
    mutex_options options = s.heard();
    options.identifier = "billing";
    const auto a = s.enqueue("/p", 1, options);
    const zklock::contender first = s.behind();
    CHECK(first.node == "/p/" + s.node(1, 0));
    CHECK(first.ours);
    CHECK(first.identifier == "me");
    CHECK(first.session_id == 5);
    const auto b = s.acquire("/p", s.heard());
    asked(s).to("create /p/" + prefix(3)).number(102, 2).nothing_else();
    const zklock::contender second = s.behind();
    CHECK(second.node == "/p/" + s.node(2, 1));
    CHECK(second.identifier == "billing");
    CHECK(second.sequence == 1);
}

TEST_CASE("a reader waits behind the writer, not behind readers")
{
    listening_scene s;
    const auto a = s.acquire("/p", s.heard(), acquire_mode::wait, contender_kind::reader);
    asked(s).to("create /p/" + prefix(1, "__READ__")).number(102, 2).to("watch /p").show(two_children());
    asked(s).to("children /p").list({writer_of_theirs, reader_of_theirs, s.node(1, 2, "__READ__")});
    asked(s).to("watch /p/" + writer_of_theirs).show(9, "they");
    const zklock::contender before = s.behind();
    CHECK(before.node == "/p/" + writer_of_theirs);
    CHECK(before.identifier == "they");
    CHECK_FALSE(before.shared);
}

TEST_CASE("an acquire that ends before that is known was queued all the same")
{
    listening_scene s;
    const auto a = s.enqueue("/p", 1, s.heard());
    CHECK(s.told->text() == "");
    a->handle->withdraw();
    CHECK(s.told->text().starts_with("1 queued, 1 failed"));
}

TEST_CASE("a semaphore: in the line behind the one before, at its head behind one who holds a permit")
{
    listening_scene s;
    semaphore_options options = permits_of(1);
    options.listener = s.told;
    const auto a = s.want_at_head(1, options);
    asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
    CHECK(s.told->text() == "");
    asked(s).to("children /s/leases").list({s.permit(9, 3), s.permit(2, 7)});
    const zklock::contender holder = s.behind();
    CHECK(holder.node == s.permit_node(9, 3));
    CHECK(holder.sequence == 3);
    CHECK_FALSE(holder.ours);
    asked(s).only("watch children /s/leases");
    const auto b = s.want(1, options);
    asked(s).to(s.line_up(3)).number(51, 1);
    const zklock::contender head = s.behind();
    CHECK(head.node == "/s/locks/" + s.node(1, 0));
    CHECK(head.ours);
}

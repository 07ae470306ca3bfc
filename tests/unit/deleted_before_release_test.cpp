// Releases of what others have deleted before: lost, as far as the answers to the deletes can say.
#include "journal.hpp"
#include "semaphore_scene.hpp"

#include <boost/asio/error.hpp>

using namespace zklock::unit;

namespace {

const error_code lost = make_error_code(errc::lost);

/// A holder of /p with a listener, and a log of warnings.
struct holder : scene {
    std::shared_ptr<journal> told = std::make_shared<journal>();
    std::vector<std::string> lines;
    std::shared_ptr<attempt> held;
    const std::string its_node = "/p/" + node(1, 3);
    const std::string remove = "remove " + its_node;

    explicit holder(bool watches = false, mutex_options o = {})
    {
        options.log = keep_log(lines);
        o.listener = told;
        start();
        connect();
        held = hold("/p", 3, std::move(o));
        if (watches) {
            held->handle->on_revoked([] {});
            clock.run();
            asked(*this).to("watch " + its_node).show(5, "me");
        }
        CHECK(told->text() == "1 queued, 1 acquired");
    }
    void deleted_event() { event(store::event_kind::deleted, its_node); }
    void reconnect()
    {
        disconnect();
        connect(5, false);
    }
    void check_lost(bool names_its_node = true)
    {
        CHECK(held->released == lost);
        CHECK(told->text() == "1 lost");
        CHECK(told->last.loss.reason == loss_reason::node_deleted);
        CHECK(held->losses == 0); // the release tells it
        REQUIRE(lines.size() == 1);
        CHECK(lines.front().find("lost /p, held for ") != std::string::npos);
        CHECK((lines.front().find("(node " + node(1, 3) + ", token ") != std::string::npos) == names_its_node);
        CHECK(lines.front().ends_with("somebody else has deleted its node"));
    }
    void check_released()
    {
        CHECK(held->released == error_code());
        CHECK(told->text() == "1 released");
        CHECK(lines.empty());
    }
};

/// Holds two permits, which are the nodes 2 and 3.
struct permits_holder : semaphore_scene {
    std::shared_ptr<journal> told = std::make_shared<journal>();
    std::shared_ptr<attempt> held;

    permits_holder()
    {
        auto o = permits_of(3);
        o.listener = told;
        held = want_at_head(2, o);
        asked(*this).to_batch_of(2).done({permit_node(2, 7), permit_node(3, 8)});
        asked(*this).to("children /s/leases").list({permit(2, 7), permit(3, 8)});
        asked(*this).to(leave_line(1)).ends(outcome::ok).nothing_else();
        CHECK(told->text() == "1 queued, 1 acquired");
    }
    void release() { semaphore_scene::release(*held); }
};

} // namespace

TEST_CASE("the servers have no node to delete: the lock had been lost")
{
    holder h;
    h.release(*h.held);
    asked(h).to(h.remove).ends(outcome::no_node).nothing_else();
    h.check_lost();
}

TEST_CASE("likewise if nobody waits for the release")
{
    holder h;
    h.held->handle->release({});
    h.clock.run();
    asked(h).to(h.remove).ends(outcome::no_node).nothing_else();
    h.held->released = lost;
    h.check_lost();
}

TEST_CASE("likewise in the next connection, if the first delete was not sent before")
{
    holder h;
    h.disconnect();
    h.release(*h.held);
    h.connect(5, false);
    asked(h).to(h.remove).ends(outcome::no_node);
    h.check_lost();
}

TEST_CASE("a delete whose answer was lost may have been done: nothing is known of others")
{
    holder h;
    h.release(*h.held);
    asked(h).to(h.remove).ends(outcome::unknown);
    CHECK_FALSE(h.held->released);
    h.reconnect();
    asked(h).to(h.remove).ends(outcome::no_node);
    h.check_released();
}

TEST_CASE("after a delete that was refused, nothing is known of others")
{
    holder h;
    h.release(*h.held);
    asked(h).to(h.remove).ends(outcome::no_auth);
    CHECK(h.held->released == errc::access_denied);
    h.held->released = error_code();
    h.lines.clear();
    h.clock.pass(1s);
    h.answer_syncs();
    asked(h).to(h.remove).ends(outcome::no_node);
    h.check_released();
}

TEST_CASE("the event of the node's end is heard before the answer to the delete, which tells whose doing it was")
{
    for (const outcome answer : {outcome::ok, outcome::no_node, outcome::unknown, outcome::no_auth}) {
        CAPTURE(static_cast<int>(answer));
        holder h(true);
        h.release(*h.held);
        h.deleted_event();
        CHECK_FALSE(h.held->released);
        CHECK(h.told->text() == "");
        asked(h).to(h.remove).ends(answer);
        if (answer == outcome::no_auth)
            std::erase_if(h.lines, [](const std::string& line) { return line.find("lost /p") == line.npos; });
        if (answer == outcome::no_node || answer == outcome::no_auth)
            h.check_lost(false);
        else
            h.check_released();
    }
}

TEST_CASE("a withdrawn waiter had nothing to lose")
{
    holder h;
    const auto b = h.enqueue("/p", 4, with(&mutex_options::listener, h.told));
    h.withdraw(*b);
    asked(h).to("remove /p/" + scene::node(2, 4)).ends(outcome::no_node);
    CHECK(h.told->text() == "2 queued, 2 failed: " + error_code(boost::asio::error::operation_aborted).message());
    CHECK(h.lines.empty());
}

TEST_CASE("a node that lingers is given back, whoever deletes it then")
{
    holder h(false, with(&mutex_options::linger, 1'000ms));
    h.release(*h.held);
    asked(h).to("watch children /p").list({scene::node(1, 3)});
    h.check_released();
    h.clock.pass(1s);
    h.answer_syncs();
    asked(h).to(h.remove).ends(outcome::no_node);
    CHECK(h.told->text() == "");
    CHECK(h.lines.empty());
}

TEST_CASE("that answer says it of the session that lives, however late it comes")
{
    holder h;
    h.release(*h.held);
    h.clock.skip(9s);
    asked(h).to(h.remove).ends(outcome::no_node);
    CHECK(h.told->text() == "1 lost");
    CHECK(h.told->last.loss.reason == loss_reason::node_deleted);

    permits_holder p;
    p.release();
    p.clock.skip(9s);
    asked(p).to_batch_of(2).fails_at(1, outcome::no_node);
    asked(p).to("remove " + p.permit_node(2, 7)).ends(outcome::no_node);
    asked(p).to("remove " + p.permit_node(3, 8)).ends(outcome::no_node);
    CHECK(p.told->text() == "1 lost");
    CHECK(p.told->last.loss.reason == loss_reason::node_deleted);
}

TEST_CASE("a writer that is released while it is downgraded")
{
    connected_scene s;
    const auto w = s.hold_as_writer("/p");
    CHECK(w->handle->downgrade([](error_code, const recipes::grant&) {}));
    s.clock.run();
    s.release(*w);
    asked(s).to(scene::downgrade("/p")).fails_at(1, outcome::no_node);
    CHECK(w->released == lost);
}

TEST_CASE("permits: any that others had deleted was lost, and so all of them end with that")
{
    permits_holder h;
    h.release();
    asked(h).to_batch_of(2).fails_at(1, outcome::no_node).to("remove " + h.permit_node(2, 7)).ends(outcome::ok);
    CHECK_FALSE(h.held->released);
    asked(h).to("remove " + h.permit_node(3, 8)).ends(outcome::no_node).nothing_else();
    CHECK(h.held->released == lost);
    CHECK(h.told->text() == "1 lost");
    CHECK(h.told->last.loss.reason == loss_reason::node_deleted);
}

TEST_CASE("permits: deletes whose answer was lost may have been done")
{
    permits_holder h;
    h.release();
    h.reconnect();
    asked(h).to_batch_of(2).fails_at(0, outcome::no_node);
    asked(h).to("remove " + h.permit_node(2, 7)).ends(outcome::no_node);
    asked(h).to("remove " + h.permit_node(3, 8)).ends(outcome::no_node);
    CHECK(h.held->released == error_code());
    CHECK(h.told->text() == "1 released");
}

TEST_CASE("permits: events before the answer, which tells whose doing it was")
{
    for (const outcome answer : {outcome::ok, outcome::no_node, outcome::no_auth}) {
        CAPTURE(static_cast<int>(answer));
        const bool by_others = answer != outcome::ok;
        permits_holder h;
        h.held->handle->on_revoked([] {});
        h.clock.run();
        asked(h).to("watch " + h.permit_node(2, 7)).show(5, "me").to("watch " + h.permit_node(3, 8)).show(5, "me");
        h.release();
        h.event(store::event_kind::deleted, h.permit_node(2, 7));
        h.event(store::event_kind::deleted, h.permit_node(3, 8));
        CHECK_FALSE(h.held->released);
        if (by_others) {
            asked(h).to_batch_of(2).fails_at(0, answer);
            asked(h).to("remove " + h.permit_node(2, 7)).ends(answer);
            asked(h).to("remove " + h.permit_node(3, 8)).ends(answer);
        } else {
            asked(h).to_batch_of(2).done({});
        }
        CHECK(h.held->released == (by_others ? lost : error_code()));
        CHECK(h.told->text() == (by_others ? "1 lost" : "1 released"));
    }
}

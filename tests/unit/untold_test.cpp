// What is never told, because the client is destroyed first, keeps nobody alive: neither the functions that were to be
// called, nor what they own, be it whatever they were to tell of.
#include "semaphore_scene.hpp"

#include "recipes/composed/election.hpp"
#include "recipes/composed/multi_acquisition.hpp"
#include "recipes/composed/reentrant_locks.hpp"
#include "recipes/requests/node_watches.hpp"

using namespace zklock::unit;

namespace {
using attempt = scene::attempt;

/// A client with all recipes that are destroyed before its session.
struct whole_client : connected_scene {
    recipes::node_watches watches{*session};
    recipes::reentrant_locks owners{*locks, clock, std::make_shared<recipes::hold_counts>()};
    recipes::semaphores semaphores{*locks};
    std::shared_ptr<recipes::election> votes = std::make_shared<recipes::election>();
    std::shared_ptr<recipes::candidate> candidate = std::make_shared<recipes::candidate>();

    std::shared_ptr<attempt> own(contender_kind kind)
    {
        const auto a = std::make_shared<attempt>();
        a->handle = owners.acquire(1, "/p", {}, call_of(a), kind);
        return a;
    }
    std::shared_ptr<attempt> lead()
    {
        const auto a = std::make_shared<attempt>();
        a->handle = votes->stand(*session, candidate, lock_of("/p"), call_of(a));
        return a;
    }
    std::shared_ptr<attempt> want_permit(const std::string& path)
    {
        const auto a = std::make_shared<attempt>();
        a->handle = semaphores.acquire({call_of(a), {path, {}}});
        return a;
    }
    void grant(const char* mark = "lock-", int n = 0)
    {
        clock.run();
        asked(*this).to("create /p/" + prefix(1, mark)).number(100, n).to("watch /p").alone(n + 1, 100);
    }
    void end_session()
    {
        servers.observer->on_disconnected();
        servers.observer->on_expired();
    }
    /// The release's function owns what it is about, too.
    static void release(const std::shared_ptr<attempt>& a)
    {
        a->handle->release([a](error_code ec) { a->released = ec; });
    }
};

/// `story` gives whom nobody may keep when the client is destroyed right after it, who was told nothing more.
void check_dropped(const std::function<std::shared_ptr<attempt>(whole_client&)>& story)
{
    std::weak_ptr<attempt> left;
    {
        whole_client c;
        left = story(c);
        REQUIRE(!left.expired());
        CHECK_FALSE(left.lock()->released);
        CHECK(left.lock()->losses == 0);
    }
    CHECK(left.expired());
}

} // namespace

TEST_CASE("the end of a wait for a lock")
{
    check_dropped([](whole_client& c) {
        const auto a = std::make_shared<attempt>();
        a->handle = c.locks->acquire(recipes::acquire_request{call_of(a), {"no path", {}}});
        return a;
    });
    check_dropped([](whole_client& c) { // granted, and lost
        const auto a = c.enqueue("/p", 3);
        asked(c).to("watch /p").kept().show_stat(last_child(4, 103));
        c.end_session();
        return a;
    });
}

TEST_CASE("the loss of a lock, and the end of its release")
{
    check_dropped([](whole_client& c) {
        const auto a = c.hold("/p", 3);
        c.end_session();
        return a;
    });
    check_dropped([](whole_client& c) {
        const auto a = c.hold("/p", 3);
        c.end_session();
        c.release(a);
        return a;
    });
    check_dropped([](whole_client& c) {
        const auto a = c.hold("/p", 3);
        c.release(a);
        return a;
    });
}

TEST_CASE("that a holder is asked to let go")
{
    check_dropped([](whole_client& c) {
        const auto a = c.hold("/p", 3);
        a->handle->on_revoked([a] { ++a->losses; });
        return a;
    });
}

TEST_CASE("the end of a downgrade")
{
    check_dropped([](whole_client& c) {
        const auto a = c.hold_as_writer("/p");
        CHECK(a->handle->downgrade([a](error_code ec, const recipes::grant&) { a->released = ec; }));
        c.end_session();
        return a;
    });
}

TEST_CASE("that an owner's acquire is refused")
{
    check_dropped([](whole_client& c) { // he has the path as another lock
        c.own(contender_kind::mutex);
        return c.own(contender_kind::reader);
    });
    check_dropped([](whole_client& c) { // he only reads
        c.own(contender_kind::reader);
        return c.own(contender_kind::writer);
    });
}

TEST_CASE("that an owner has a lock, once more; and that he has let go")
{
    check_dropped([](whole_client& c) {
        c.own(contender_kind::mutex);
        c.grant();
        return c.own(contender_kind::mutex);
    });
    check_dropped([](whole_client& c) {
        const auto a = c.own(contender_kind::mutex);
        c.grant();
        c.own(contender_kind::mutex);
        c.clock.run();
        c.release(a);
        return a;
    });
    for (const bool first : {true, false})
        check_dropped([first](whole_client& c) { // both end with the node
            const auto writer = c.own(contender_kind::writer);
            c.grant("__WRIT__");
            const auto reader = c.own(contender_kind::reader);
            c.clock.run();
            c.release(writer);
            c.release(reader);
            return first ? writer : reader;
        });
}

TEST_CASE("the end of a wait for permits")
{
    check_dropped([](whole_client& c) { return c.want_permit("no path"); });
    check_dropped([](whole_client& c) { // granted, and lost
        const auto a = c.want_permit("/s");
        c.clock.run();
        asked(c).to("create /s/locks/" + prefix(1)).number(50, 0).to("watch /s/locks").alone(1, 50);
        asked(c).to("create " + semaphore_scene::permit_prefix(2)).number(200, 0);
        asked(c).to("children /s/leases").kept().list({semaphore_scene::permit(2, 0)});
        CHECK(a->handle->held(c.clock.now()));
        c.end_session();
        CHECK_FALSE(a->handle->held(c.clock.now()));
        return a;
    });
}

TEST_CASE("the end of a leadership, and that one who has resigned does not stand")
{
    check_dropped([](whole_client& c) {
        const auto a = c.lead();
        c.grant();
        c.release(a);
        return a;
    });
    check_dropped([](whole_client& c) {
        c.lead();
        c.votes->resign(*c.session, [] {});
        return c.lead();
    });
}

TEST_CASE("that a multi-lock is refused, and the end of its release")
{
    check_dropped([](whole_client& c) {
        const auto a = std::make_shared<attempt>();
        a->handle = recipes::multi_acquisition::start(*c.session, {}, call_of(a));
        return a;
    });
    check_dropped([](whole_client& c) {
        const auto a = std::make_shared<attempt>();
        a->handle = recipes::multi_acquisition::start(*c.session, {{"/p", c.lock_of("/p")}}, call_of(a));
        c.grant();
        REQUIRE(a->ended == error_code());
        c.release(a);
        return a;
    });
}

TEST_CASE("the answer to a request, and the end of a wait for a node")
{
    struct asking : attempt {
        std::shared_ptr<recipes::user_request> request;
        std::shared_ptr<recipes::node_wait> wait;
    };
    check_dropped([](whole_client& c) {
        const auto a = std::make_shared<asking>();
        a->request =
            recipes::nodes::get(*c.session, "no path", [a](error_code ec, const node_content&) { a->ended = ec; });
        return a;
    });
    check_dropped([](whole_client& c) {
        const auto a = std::make_shared<asking>();
        a->wait = c.watches.wait("no path", recipes::node_wait::goal::created, {},
                                 [a](error_code ec, const std::optional<node_stat>&) { a->ended = ec; });
        return a;
    });
}

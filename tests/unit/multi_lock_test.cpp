// A lock made of several, when the end of the wait for one member is on its way: it has been decided, and not yet told.
#include "session_scene.hpp"

#include "recipes/composed/multi_acquisition.hpp"
#include "recipes/composed/reentrant_locks.hpp"
#include "recipes/session/error_mapping.hpp"

using namespace zklock::unit;

namespace {

/// Two locks are waited for, and each is granted when the test likes. /q may be re-entrant: all of it is of one owner.
struct two_locks : connected_scene {
    recipes::reentrant_locks owners{*locks, clock, std::make_shared<recipes::hold_counts>()};

    std::shared_ptr<attempt> want_p_and_q(bool reentrant = false)
    {
        return acquire_by([&](recipes::acquire_call call) {
            const auto own = [this](recipes::acquire_call inner) { return own_q(std::move(inner)); };
            return recipes::multi_acquisition::start(
                *session, {{"/p", lock_of("/p")}, {"/q", reentrant ? recipes::acquire_function(own) : lock_of("/q")}},
                std::move(call));
        });
    }
    std::shared_ptr<recipes::acquisition> own_q(recipes::acquire_call call)
    {
        return owners.acquire(1, "/q", {}, std::move(call));
    }
    /// The contender with that number has a node, which is alone in its path. What follows from that is not told yet.
    void decide(const std::string& path, int contender)
    {
        asked(*this).to("create " + path + "/" + prefix(contender)).number(100 + contender, 3);
        asked(*this).to("watch " + path).kept().show_stat(last_child(4, 100 + contender));
    }
    void grant(const std::string& path, int contender)
    {
        decide(path, contender);
        clock.run();
    }
    /// /p is granted, and lost; and then /q is granted. Neither of these two is told yet.
    void lose_p_and_grant_q()
    {
        grant("/p", 1);
        while (!servers.asks("watch /p/")) { // the nodes of those who hold for long are watched
            clock.pass(100ms);
            answer_syncs();
        }
        asked(*this).to("watch /p/" + node(1, 3)).show(5, "me");
        asked(*this).to("create /q/" + prefix(2)).number(102, 3);
        const auto look = asked(*this).to("watch /q").kept();
        servers.observer->on_node_event(store::event_kind::deleted, "/p/" + node(1, 3));
        look.show_stat(last_child(4, 102));
    }
    static std::string removal(const std::string& path, int contender)
    {
        return "remove " + path + "/" + node(contender, 3);
    }
};

} // namespace

TEST_CASE("its caller leaves: it ends when that is told, and a lock with other options may have the path then")
{
    for (const std::string last : {"/p", "/q"}) {
        CAPTURE(last);
        two_locks s;
        const auto both = s.want_p_and_q();
        if (last == "/q")
            s.grant("/p", 1);
        s.decide(last, last == "/q" ? 2 : 1);
        CHECK_FALSE(both->handle->withdraw());
        CHECK_FALSE(both->handle->withdraw());
        s.clock.run();
        CHECK(both->ended == recipes::cancelled());
        CHECK_FALSE(both->handle->held(s.clock.now()));
        CHECK_FALSE(both->handle->withdraw());
        const auto other = s.acquire("/p", with(&mutex_options::cohort, 2U));
        CHECK_FALSE(other->ended);
        if (last == "/q")
            asked(s).to(two_locks::removal("/q", 2)).ends(outcome::ok);
        asked(s).to(two_locks::removal("/p", 1)).ends(outcome::ok);
        s.grant("/p", s.uuids);
        CHECK(other->ended == error_code());
    }
}

TEST_CASE("its caller leaves, and that member is refused: it ends as he wanted")
{
    two_locks s;
    const auto both = s.want_p_and_q();
    s.grant("/p", 1);
    asked(s).to("create /q/" + prefix(2)).kept().answer(outcome::no_auth);
    CHECK_FALSE(both->handle->withdraw());
    s.clock.run();
    CHECK(both->ended == recipes::cancelled());
    asked(s).to(two_locks::removal("/p", 1));
}

TEST_CASE("a member that is held is lost: it begins anew when that is told, and has nothing till then")
{
    two_locks s;
    const auto both = s.want_p_and_q();
    s.lose_p_and_grant_q();
    s.clock.run();
    CHECK_FALSE(both->ended);
    asked(s).to(two_locks::removal("/q", 2)).ends(outcome::ok);
    asked(s).to("create /p/" + prefix(3)).number(103, 4); // the last one is known to have gone
    asked(s).to("create /q/" + prefix(4)).number(104, 4);
    CHECK(both->ended == error_code());
    CHECK(both->losses == 0);
    s.release(*both); // until then it keeps what it is to call
}

TEST_CASE("a member that is held is lost, and nobody has left: what ends it is told, not that it was cancelled")
{
    two_locks s;
    const auto both = s.want_p_and_q(true);
    s.grant("/p", 1);
    s.close();
    CHECK(both->ended == errc::closed);
}

TEST_CASE("its caller leaves, and a member is lost: it ends, though its owner waits for another one there")
{
    two_locks s;
    const auto both = s.want_p_and_q(true);
    s.lose_p_and_grant_q();
    CHECK_FALSE(both->handle->withdraw());
    const auto other = s.acquire_by([&s](recipes::acquire_call call) { return s.own_q(std::move(call)); });
    CHECK(both->ended == recipes::cancelled());
    CHECK(other->ended == error_code());
}

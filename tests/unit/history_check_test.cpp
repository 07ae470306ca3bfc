// When a client believes that the servers have lost the history that it has seen.
#include "bridge/connection/history_check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace zklock::bridge;
using question = session_question;
using answer = session_answer;
using verdict = history_check::verdict;

namespace {

/// A server, as a client sees it that has seen transaction 100.
struct simulated_server {
    int seen = 100;      ///< its last transaction
    bool serves = true;  ///< or it hangs up on everybody
    bool session = true; ///< it knows the session, or its leader does
    int deaf_to_ends = 0;

    /// What comes of an attempt there. `connected`: it goes on with the session.
    answer asked(question what, bool& connected)
    {
        if (!serves || (what == question::service && seen < 100))
            return answer::hung_up;
        if (what == question::service) {
            connected = session; // or it has expired, which is told by another way
            return answer::none;
        }
        if (!session)
            return answer::unknown;
        if (what == question::end)
            session = deaf_to_ends-- > 0;
        return answer::taken_up;
    }
};

/// With the votes of a cycle, which the connector counts.
struct checked : history_check {
    std::size_t votes = 0;

    void cycle_begins() { votes = 0; }
};

struct attempted {
    bool over = false;
    bool connected = false;
    std::vector<question> asked{};
};

/// One attempt, as the connection makes it; `between` happens before each time that the server is asked.
template <class F>
attempted tried(checked& check, simulated_server& server, bool overdue, std::size_t servers, F between,
                bool believed = true)
{
    attempted o;
    check.attempt_begins();
    for (auto v = verdict::ask; v == verdict::ask;) {
        between(o.asked.size());
        o.asked.push_back(check.asks());
        REQUIRE(o.asked.size() < 16);
        const answer a = server.asked(check.asks(), o.connected);
        if (o.connected)
            return o;
        v = check.answered(a, believed, overdue, 2 * (check.votes + 1) > servers);
        check.votes += v == verdict::voted;
        o.over = v == verdict::over;
    }
    return o;
}

attempted tried(checked& check, simulated_server& server, bool overdue, std::size_t servers)
{
    return tried(check, server, overdue, servers, [](std::size_t) {});
}

} // namespace

TEST_CASE("a server that was begun anew says so once the session should be over, and not before")
{
    checked check;
    simulated_server wiped{1, true, false};
    CHECK(tried(check, wiped, false, 1).asked == std::vector{question::service});
    const attempted o = tried(check, wiped, true, 1);
    CHECK(o.over);
    CHECK(o.asked == std::vector{question::service, question::session});
}

TEST_CASE("servers without a quorum end no session, however long they hang up")
{
    checked check;
    simulated_server waits{100, false};
    for (int cycle = 0; cycle < 100; ++cycle) {
        check.cycle_begins();
        CHECK_FALSE(tried(check, waits, true, 3).over);
        CHECK_FALSE(tried(check, waits, true, 3).over);
        CHECK_FALSE(tried(check, waits, true, 3).over);
    }
}

TEST_CASE("a session that is to be ended: nobody is asked for service before it is")
{
    for (const bool overdue : {false, true}) {
        checked check;
        simulated_server restored{200, true, true, 1}; // which lets in who has seen what this client has
        check.end_session();
        const auto as_it_is = [](std::size_t) {};
        const attempted first = tried(check, restored, overdue, 1, as_it_is, false);
        CHECK_FALSE(first.connected);
        CHECK_FALSE(first.over); // it has ended it, and who was asked is not believed
        CHECK_FALSE(restored.session);
        CHECK(first.asked == std::vector{question::end, question::end, question::end});
        simulated_server away{200, false};
        CHECK_FALSE(tried(check, away, overdue, 1).over);
        const attempted second = tried(check, restored, overdue, 1);
        CHECK(second.over);
        CHECK(second.asked == std::vector{question::end});
        CHECK(tried(check, restored, false, 1).asked == std::vector{question::service});
    }
}

TEST_CASE("a session that is to be ended: more than half of the servers end it, or one once it should be over")
{
    checked check;
    check.end_session();
    simulated_server stray{200, true, false}, away{200, false}, restored{200, true, true};
    for (int cycle = 0; cycle < 10; ++cycle) {
        check.cycle_begins();
        CHECK_FALSE(tried(check, stray, false, 3).over);
        CHECK_FALSE(tried(check, away, false, 3).over);
        CHECK_FALSE(tried(check, away, false, 3).over);
    }
    check.cycle_begins();
    CHECK_FALSE(tried(check, restored, false, 3).over);
    CHECK(check.ends());
    CHECK(tried(check, stray, false, 3).over);
    CHECK_FALSE(check.ends());

    check.end_session();
    check.cycle_begins();
    CHECK_FALSE(tried(check, stray, false, 3).over);
    check.cycle_begins();
    CHECK(tried(check, stray, true, 3).over);
}

TEST_CASE("a session that is to be ended, and has ended otherwise: the next is asked for service")
{
    checked check;
    simulated_server restored{200, true, true, 1};
    check.end_session();
    check.session_is_over();
    CHECK(tried(check, restored, false, 3).asked == std::vector{question::service});
}

TEST_CASE("a session that is to be ended, at a server that does not: the next attempt is the next")
{
    checked check;
    simulated_server deaf{200, true, true, 1000};
    check.end_session();
    CHECK_FALSE(tried(check, deaf, true, 1).over);
    deaf.deaf_to_ends = 0;
    CHECK(tried(check, deaf, true, 1).over);
}

TEST_CASE("a quorum that comes back between two questions keeps the session")
{
    for (std::size_t when : {1u, 2u, 3u}) {
        checked check;
        simulated_server server{100, false};
        const auto back = [&](std::size_t asked) { server.serves = asked >= when; };
        const attempted first = tried(check, server, true, 1, back);
        CHECK_FALSE(first.over);
        CHECK(server.session);
        server.serves = true;
        CHECK((first.connected || tried(check, server, true, 1).connected));
    }
}

TEST_CASE("an earlier history in which the session lives ends it, and is asked until it has")
{
    for (int deaf : {0, 1, 2}) {
        checked check;
        simulated_server restored{50, true, true, deaf};
        CHECK(tried(check, restored, true, 1).over);
        CHECK_FALSE(restored.session);
    }
    checked check;
    simulated_server never{50, true, true, 1000};
    CHECK_FALSE(tried(check, never, true, 1).over); // the next cycle tries again
    CHECK(never.session);
}

TEST_CASE("one of three servers decides nothing, in any number of cycles, and ends no session")
{
    for (const bool session : {false, true}) {
        checked check;
        simulated_server stray{50, true, session}, away{100, false};
        for (int cycle = 0; cycle < 10; ++cycle) {
            check.cycle_begins();
            CHECK_FALSE(tried(check, stray, true, 3).over);
            CHECK_FALSE(tried(check, away, true, 3).over);
            CHECK_FALSE(tried(check, away, true, 3).over);
        }
        CHECK(stray.session == session);
        // The second of three in one cycle does.
        check.cycle_begins();
        simulated_server second{50, true, session};
        CHECK_FALSE(tried(check, stray, true, 3).over);
        CHECK(tried(check, second, true, 3).over);
        CHECK_FALSE(second.session);
    }
}

TEST_CASE("half of the servers are not more than half")
{
    checked check;
    simulated_server wiped{1, true, false}, away{100, false};
    CHECK_FALSE(tried(check, wiped, true, 2).over);
    CHECK_FALSE(tried(check, away, true, 2).over);
}

TEST_CASE("whatever servers do that have not lost their history, the session goes on where it lives")
{
    std::minstd_rand random(7);
    const auto odds = [&](unsigned n) { return random() % n == 0; };
    for (int round = 0; round < 2000; ++round) {
        checked check;
        std::vector<simulated_server> all(1 + random() % 5);
        for (auto& server : all)
            server.serves = false;
        const std::size_t strays = (all.size() - 1) / 2; // which serve by themselves, from an old backup
        for (std::size_t i = 0; i < strays; ++i)
            all[i] = {50, true, odds(2)};
        bool connected = false;
        int away = 0; // for so many questions more, at least
        for (int cycle = 0; cycle < 20 && !connected; ++cycle) {
            check.cycle_begins();
            for (std::size_t i = 0; i < all.size() && !connected; ++i) {
                // An election takes longer than one question.
                const auto change = [&](std::size_t) {
                    if (i < strays || away-- > 0)
                        return;
                    all[i].serves = odds(3);
                    away = all[i].serves ? 0 : 1 + static_cast<int>(random() % 3);
                };
                const attempted o = tried(check, all[i], true, all.size(), change);
                REQUIRE_FALSE(o.over);
                REQUIRE((i < strays || all[i].session));
                connected = o.connected;
            }
        }
        for (auto& server : all)
            server.serves = true;
        for (std::size_t i = strays; i < all.size() && !connected; ++i)
            connected = tried(check, all[i], true, all.size()).connected;
        CHECK(connected);
    }
}

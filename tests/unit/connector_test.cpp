#include "connector_scene.hpp"

namespace zklock::unit::connecting {

TEST_CASE("a cycle tries each address once, and then the names are looked up again")
{
    connector_scene s;
    s.begin({"a", "b", "c"});
    CHECK(s.refuse_cycle() == std::multiset<std::string>{"a", "b", "c"});
    s.resolve({"a", "d"});
    CHECK(s.refuse_cycle() == std::multiset<std::string>{"a", "d"});
}

TEST_CASE("where no name is known any more, a session may be taken up at the addresses of the last cycle")
{
    connector_scene s;
    s.begin({"a", "b"});
    s.c.opened(12s);
    s.attempt_after(loss::connection);
    s.refuse_cycle();
    CHECK(s.c.names_known({}, s.now) == step::attempt);
    CHECK(s.refuse_cycle() == std::multiset<std::string>{"a", "b"});
}

TEST_CASE("the pause between cycles doubles up to its limit; the later ones are drawn from their upper third")
{
    connector_scene s;
    s.begin({"a"});
    clock_type::duration longest = 100ms;
    for (int cycle = 0; cycle < 12; ++cycle) {
        const auto before = s.now;
        s.refuse_cycle();
        CHECK((cycle == 0 || s.now - before >= longest * 66 / 100));
        CHECK(s.now - before <= longest);
        longest = std::min<clock_type::duration>(longest * 2, 5s);
        s.resolve({"a"});
    }
}

TEST_CASE("clients that a server has lost in one moment spread over all of the first pause")
{
    std::vector<int> tenths(10);
    for (unsigned client = 0; client < 1000; ++client) {
        connector_scene s({10s, 500ms, 5s}, client);
        s.begin({"a"});
        s.stay_connected(10s);
        const auto lost_at = s.now;
        s.attempt_after(loss::connection);
        CHECK(s.now == lost_at);
        s.refuse_cycle();
        ++tenths[static_cast<std::size_t>(std::min<long>((s.now - lost_at) / 50ms, 9))];
    }
    for (const int came : tenths) { // 100, give or take more than five standard deviations
        CHECK(came > 50);
        CHECK(came < 150);
    }
}

TEST_CASE("while the session may live, and for another time-out, the pause is no longer than an eighth of it")
{
    connector_scene s({12s, 5s, 5s});
    s.begin({"a"});
    s.c.opened(4s);
    const auto lost_at = s.now += 1min;
    CHECK(s.c.lost(loss::connection, s.now) == step::wait);
    while (s.now < lost_at + 7s) {
        const auto before = s.now;
        s.next_attempt({"a"});
        CHECK(s.now - before <= 500ms);
        CHECK(s.c.lost(loss::connection, s.now) == step::wait);
    }
    s.now = lost_at + 8s;
    const auto before = s.now;
    s.next_attempt({"a"});
    CHECK(s.c.lost(loss::connection, s.now) == step::wait);
    s.next();
    CHECK(s.now - before >= 2500ms);
}

TEST_CASE("all silent servers of a list have had their time in a third of the session's time-out")
{
    connector_scene s({18s, 100ms, 5s});
    s.begin({"a", "b", "c"});
    const auto before = s.now;
    for (int attempt = 0; attempt < 3; ++attempt) {
        CHECK(s.next() == step::end_attempt);
        CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        if (attempt < 2)
            CHECK(s.next() == step::attempt);
    }
    CHECK(s.now - before == 6s);
}

TEST_CASE("where nobody answers, the next cycle is more patient; a refusal does not make it so")
{
    connector_scene s;
    s.begin({"a"});
    s.refuse_cycle();
    s.resolve({"a"});
    clock_type::duration limit = 4s;
    for (int cycle = 0; cycle < 4; ++cycle) {
        CHECK(s.time_to(step::end_attempt) == limit);
        limit = std::min<clock_type::duration>(limit * 2, 8s); // two thirds of the session
        s.resolve_after(loss::connection);
        s.resolve({"a"});
    }
}

TEST_CASE("after a loss another server is tried, and at once")
{
    connector_scene s;
    s.begin({"a", "b"});
    const std::string first = s.c.address().text;
    s.stay_connected();
    CHECK(s.c.lost(loss::connection, s.now) == step::wait);
    CHECK(s.time_to(step::attempt) == 0s);
    CHECK(s.c.address().text != first);
}

TEST_CASE("who is told that the session is over asks the same server for a new one")
{
    connector_scene s;
    s.begin({"a", "b"});
    const std::string first = s.c.address().text;
    s.now += 1s;
    s.attempt_after(loss::session);
    CHECK(s.c.address().text == first);
}

namespace {

/// One after the other of two servers takes the session, answers a sync, and hangs up: since when a connection has
/// served, when the connects were made.
std::vector<clock_type::duration> connects_in_vain(clock_type::duration granted, unsigned seed, bool said_to_be_over)
{
    connector_scene s({std::chrono::duration_cast<std::chrono::milliseconds>(granted), 500ms, 5s}, seed);
    s.begin({"a", "b"});
    s.c.opened(granted);
    s.c.served(s.now += granted / 4);
    const auto since = s.now;
    std::vector<clock_type::duration> made;
    do {
        REQUIRE(made.size() < 100);
        CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        if (std::exchange(said_to_be_over, false)) {
            CHECK(s.next() == step::attempt);
            made.push_back(s.now - since);
            CHECK(s.c.lost(loss::session, s.now) == step::wait);
        }
        CHECK(s.next() == step::attempt);
        made.push_back(s.now - since);
        s.c.opened(granted);
        s.c.served(s.now + granted / 4 - 1ms);
    } while (made.back() < 2 * granted);
    return made;
}

} // namespace

TEST_CASE("servers that take the session and hang up: at most 17 connects in each time-out, the first at once")
{
    for (const clock_type::duration granted : {1s, 4s, 10s, 30s, 40s})
        for (unsigned seed = 0; seed < 200; ++seed)
            for (const bool renewed : {false, true}) {
                const auto made = connects_in_vain(granted, seed, renewed);
                CHECK(made[0] == 0s);
                CHECK((!renewed || made[1] == 0s)); // a new session is asked for at once
                for (std::size_t n = 0; n + 1 < made.size(); ++n) {
                    CHECK(made[n + 1] - made[n] <= granted / 8);
                    CHECK((n + 17 >= made.size() || made[n + 17] - made[n] > granted));
                }
            }
}

TEST_CASE("a client that ends its sessions: the first is replaced at once, the others after longer pauses")
{
    for (unsigned seed = 0; seed < 200; ++seed) {
        connector_scene s({10s, 500ms, 5s}, seed);
        s.begin({"a", "b"});
        s.c.opened(10s);
        s.c.served(s.now += 2500ms);
        for (unsigned ended = 0; ended < 10; ++ended) {
            const auto before = s.now;
            s.attempt_after(loss::connection); // the client hangs up,
            s.attempt_after(loss::session);    // and comes back for its end
            const auto paused = s.now - before;
            CAPTURE(ended);
            CHECK(s.c.lost_unproved() == ended);
            if (ended == 0)
                CHECK(paused == 0s);
            else
                CHECK(paused > 0s);
            if (ended > 3) { // an eighth of the session and the limit, and two thirds of both at least
                CHECK(paused >= 4166ms);
                CHECK(paused <= 6250ms);
            }
            s.c.opened(10s);
            s.c.served(s.now + 2499ms); // what is answered before that does not count
        }
    }
}

TEST_CASE("a connection has proved itself when something was written or synced after a quarter of the time-out")
{
    connector_scene s({12s, 500ms, 5s});
    s.begin({"a", "b"});
    s.stay_connected();
    const auto lose = [&] {
        CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        return s.time_to(step::attempt);
    };
    CHECK(s.c.unserved_for(s.now) == 1min);
    CHECK(lose() == 0s);
    CHECK(s.c.lost_unproved() == 1); // nothing was answered
    const std::string second = s.c.address().text;
    s.c.opened(12s);
    s.c.served(s.now + 3s - 1ms);
    CHECK_FALSE(s.c.proved());
    s.now += 1min;
    CHECK(lose() > 0s);
    CHECK(s.c.lost_unproved() == 2);
    CHECK(s.c.last_lost_unproved()->text == second);
    CHECK(s.c.unserved_for(s.now) > 2min);
    CHECK(lose() == 0s); // an attempt that fails: the other server is next
    s.c.opened(12s);
    s.c.served(s.now += 3s);
    CHECK(s.c.proved());
    CHECK(s.c.lost_unproved() == 0);
    const auto served_until = s.now += 1min;
    CHECK(lose() == 0s);
    s.c.opened(12s);
    CHECK_FALSE(s.c.proved());
    CHECK(s.c.unserved_for(s.now + 5s) == s.now + 5s - served_until);
}

TEST_CASE("once a connection has served, pauses and patience begin anew")
{
    connector_scene s;
    s.begin({"a"});
    for (int cycle = 0; cycle < 4; ++cycle) { // silent ones
        CHECK(s.next() == step::end_attempt);
        s.resolve_after(loss::connection);
        s.resolve({"a"});
    }
    s.c.opened(12s);
    s.c.served(s.now += 1min);
    s.attempt_after(loss::connection);
    CHECK(s.time_to(step::end_attempt) == 4s);
    CHECK(s.c.lost(loss::connection, s.now) == step::wait);
    CHECK(s.time_to(step::resolve) <= 100ms);
}

TEST_CASE("an address that comes while a server is spared does not end the pause")
{
    connector_scene s({60s, 2s, 5s});
    s.begin({"a"});
    for (int connection = 0; connection < 2; ++connection) {
        s.c.opened(60s);
        s.attempt_after(loss::connection);
    }
    s.c.opened(60s);
    CHECK(s.c.lost(loss::connection, s.now) == step::wait);
    CHECK(s.c.names_known({addresses({"a", "b"}), false, true}, s.now) == step::wait);
    CHECK(s.time_to(step::attempt) >= 1s);
}

TEST_CASE("the first address of all comes when none could be tried: it is tried at once")
{
    connector_scene s;
    REQUIRE(s.c.begin(s.now) == step::resolve);
    REQUIRE(s.c.names_known({addresses({}), false, true}, s.now) == step::wait);
    CHECK(s.c.names_known({addresses({"a"}), false, true}, s.now) == step::wait);
    CHECK(s.c.due() == s.now);
    CHECK(s.c.time_passed(s.now) == step::attempt);
    CHECK(s.c.address().text == "a");
}

TEST_CASE("a session that is over needs no hurry")
{
    connector_scene s({60s, 5s, 5s});
    s.begin({"a"});
    s.stay_connected(8s);
    s.attempt_after(loss::connection);
    s.attempt_after(loss::session);
    s.refuse_cycle(); // its pause may be short
    s.resolve({"a"});
    const auto before = s.now;
    s.refuse_cycle();
    CHECK(s.now - before >= 3300ms);
}

TEST_CASE("when the session should be over: after its time-out, margin and tick, though the machine may have slept")
{
    connector_scene s({12s, 100ms, 5s, false, 2s});
    s.begin({"a"});
    CHECK_FALSE(s.c.session_is_overdue(s.now + 1h)); // there is none
    clock_type::time_point lost_at;
    const auto lose = [&] {
        lost_at = s.now;
        s.attempt_after(loss::connection);
    };
    const auto check_overdue_after = [&](clock_type::duration time) {
        CHECK_FALSE(s.c.session_is_overdue(lost_at + time - 1ms));
        CHECK(s.c.session_is_overdue(lost_at + time));
    };
    s.stay_connected();
    CHECK_FALSE(s.c.session_is_overdue(s.now));

    SUBCASE("awake") {
        lose();
        check_overdue_after(12s + 3s + 2s);
    }
    SUBCASE("asleep for a while") {
        lose();
        s.c.slept += 10s;
        check_overdue_after(7s);
    }
    SUBCASE("asleep before, while it was connected") {
        s.c.slept += 10s;
        lose();
        check_overdue_after(17s);
    }
    SUBCASE("a server that takes it up for a shorter time: the next leader knows the one that it began with") {
        lose();
        s.c.opened(6s);
        CHECK_FALSE(s.c.session_is_overdue(s.now + 1h));
        s.now += 1min;
        lose();
        check_overdue_after(12s + 2s + 2s);
    }
    SUBCASE("or for a longer time") {
        lose();
        s.stay_connected(16s);
        lose();
        check_overdue_after(16s + 4s + 2s);
    }
    SUBCASE("another session") {
        lose();
        s.attempt_after(loss::session);
        CHECK_FALSE(s.c.session_is_overdue(s.now + 1h));
        s.stay_connected(6s);
        lose();
        check_overdue_after(6s + 2s + 2s);
    }
}

TEST_CASE("when the session should be over: the lease's margin may be stated")
{
    connector_scene s({12s, 100ms, 5s, false, 2s, 500ms});
    s.begin({"a"});
    s.stay_connected();
    CHECK(s.c.lost(loss::connection, s.now) == step::wait);
    CHECK_FALSE(s.c.session_is_overdue(s.now + 14s + 499ms));
    CHECK(s.c.session_is_overdue(s.now + 14s + 500ms));
}

TEST_CASE("refused credentials are the end of all attempts when every server that answers in a cycle refuses them")
{
    connector_scene s;
    const auto refused = [&s] { // a server says so after it has taken the session up
        s.c.opened(12s);
        CHECK(s.c.lost(loss::credentials, s.now) == step::wait);
    };
    const auto next_at_once = [&s] { CHECK(s.time_to(step::attempt) == 0s); };
    const auto check_final = [&s] {
        CHECK(s.c.now_in() == phase::closed);
        CHECK_FALSE(s.c.due());
        CHECK(s.c.time_passed(s.now + 1h) == step::wait);
    };
    s.begin({"a", "b", "c"});
    const std::string first = s.c.address().text;
    refused();
    next_at_once();
    CHECK(s.c.address().text != first);

    SUBCASE("by all") {
        refused();
        next_at_once();
        refused();
        check_final();
    }
    SUBCASE("by some, where the others cannot be reached") {
        CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        next_at_once();
        CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        check_final();
    }
    SUBCASE("not, if another has served this client: the next cycle is a whole one") {
        s.stay_connected();
        CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        for (int i = 0; i < 2; ++i) {
            next_at_once();
            refused();
        }
        next_at_once();
        s.attempt_after(loss::session); // that is an answer, too
        s.c.opened(12s);
        CHECK(s.c.now_in() == phase::connected);
    }
    SUBCASE("not, as long as names are looked up: there may be another server") {
        CHECK(s.c.names_known({addresses({"a", "b", "c"}), true, false}, s.now) == step::wait);
        refused();
        next_at_once();
        refused();
        CHECK(s.c.now_in() == phase::pausing);
        CHECK(s.time_to(step::resolve) > 0s);
        s.resolve({"a", "b", "c"});
        refused();
        next_at_once();
        refused();
        next_at_once();
        refused();
        check_final();
    }
}

TEST_CASE("closing")
{
    connector_scene s;

    SUBCASE("without a connection ends at once") {
        s.begin({"a"});
        CHECK(s.c.close(s.now) == step::finish);
    }
    SUBCASE("gives a connection a second for its farewell, and one for the server's") {
        s.begin({"a"});
        s.c.opened(12s);
        CHECK(s.c.close(s.now) == step::wait);
        CHECK(s.c.now_in() == phase::flushing);
        s.now += 900ms;
        CHECK(s.c.time_passed(s.now) == step::wait);
        s.c.hung_up(s.now);
        CHECK(s.c.now_in() == phase::draining);
        s.now += 900ms;
        CHECK(s.c.time_passed(s.now) == step::wait);
        CHECK(s.next() == step::finish);
    }
    SUBCASE("is not undone by names that are answered, or a connection that is lost") {
        CHECK(s.c.begin(s.now) == step::resolve);
        CHECK(s.c.close(s.now) == step::finish);
        s.c.finished();
        CHECK(s.c.names_known({addresses({"a"}), false, true}, s.now) == step::wait);
        CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        CHECK_FALSE(s.c.due());
    }
}

TEST_CASE("the longest times that may be asked for do not overflow")
{
    constexpr auto most = std::chrono::milliseconds::max();
    connector_scene s({(1ll << 30) * 1ms, most, most});
    s.begin({"a"});
    for (int cycle = 0; cycle < 100; ++cycle) {
        const auto before = s.now;
        s.refuse_cycle();
        CHECK((cycle == 0 || s.now - before >= 12h));
        CHECK(s.now - before <= 24h);
        s.resolve({"a"});
    }
}

TEST_CASE("without a connection: from the beginning, or from the last loss, whatever is tried meanwhile")
{
    connector_scene s;
    s.now += 1s;
    s.begin({"a"});
    const auto try_in_vain = [&] {
        const auto before = s.now;
        const auto already = s.c.unconnected_for(before);
        while (s.now < before + 1min) {
            CHECK(s.next() == step::end_attempt);
            s.resolve_after(loss::connection);
            s.resolve({"a"});
        }
        CHECK(s.c.unconnected_for(s.now) == already + (s.now - before));
    };
    CHECK(s.c.unconnected_for(s.now) == 1s);
    try_in_vain();
    for (const loss what : {loss::connection, loss::session}) {
        s.stay_connected();
        CHECK(s.c.lost(what, s.now) == step::wait);
        CHECK(s.c.unconnected_for(s.now) == 0s);
        CHECK(s.next() == step::attempt);
        try_in_vain();
    }
}

TEST_CASE("cut off: all have failed, and for a third of the session's time-out")
{
    connector_scene s;
    s.begin({"a", "b"});
    const auto refuse_until = [&](clock_type::time_point end) {
        while (s.now < end) {
            CHECK(s.c.lost(loss::connection, s.now) == step::wait);
            CHECK_FALSE(s.c.is_cut_off(s.now));
            s.next_attempt({"a", "b"});
        }
        CHECK_FALSE(s.c.is_cut_off(s.now)); // an attempt is under way
        while (!s.c.all_failed()) {
            CHECK(s.c.lost(loss::connection, s.now) == step::wait);
            if (!s.c.all_failed())
                CHECK(s.next() == step::attempt);
        }
        CHECK(s.c.is_cut_off(s.now));
    };
    refuse_until(s.now + 4s);
    CHECK(s.next() == step::resolve);
    s.resolve({"a", "b"});
    s.c.opened(12s);
    CHECK_FALSE(s.c.is_cut_off(s.now));
    s.now += 1min;
    CHECK(s.c.lost(loss::connection, s.now) == step::wait);
    CHECK_FALSE(s.c.is_cut_off(s.now));
    const auto end = s.now + 4s;
    CHECK(s.next() == step::attempt);
    refuse_until(end);
}

} // namespace zklock::unit::connecting

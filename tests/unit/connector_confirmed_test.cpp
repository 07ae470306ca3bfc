// Where names lead may change, and another ensemble may live where one of ours was: what may be done at an address that
// no answer since the last connection has named.
#include "connector_scene.hpp"

namespace zklock::unit::connecting {
namespace {

constexpr connector::settings with_names{12s, 100ms, 5s, true, 2s};
// The time-out, a quarter of it as the lease's margin, and a tick.
constexpr auto till_over = 12s + 3s + 2s;

/// A connector whose addresses come from names, each of which was asked at some time.
struct names_scene : connector_scene {
    explicit names_scene(unsigned seed = 1) : connector_scene(with_names, seed) {}

    struct named {
        std::string text;
        clock_type::time_point asked;
        std::optional<clock_type::time_point> unanswered_since{};
    };

    step tell(const std::vector<named>& all)
    {
        connector::names known;
        for (const named& each : all) {
            auto made = std::make_shared<bridge::server_address>();
            made->text = each.text;
            made->given.push_back({"name-of-" + each.text, 2181, false});
            made->asked = each.asked;
            made->unanswered_since = each.unanswered_since;
            known.addresses.push_back(std::move(made));
        }
        return c.names_known(std::move(known), now);
    }
    /// All these were asked just now.
    step answer(const std::vector<std::string>& all)
    {
        std::vector<named> known;
        for (const auto& text : all)
            known.push_back({text, now});
        return tell(known);
    }
    /// Connects to one of these, and loses the connection a minute later. Where it was connected.
    std::string connect_and_lose(const std::vector<std::string>& all)
    {
        REQUIRE(c.begin(now) == step::resolve);
        asked = now;
        REQUIRE(answer(all) == step::attempt);
        c.opened(12s);
        std::string where = c.address().text;
        now += 1min;
        CHECK(c.lost(loss::connection, now) == step::resolve);
        return where;
    }
    /// The names are being asked again, and have not answered.
    step ask_again(const std::vector<std::string>& all)
    {
        std::vector<named> known;
        for (const auto& text : all)
            known.push_back({text, asked, now});
        return tell(known);
    }

    /// Likewise; then the next attempt begins, while the names are being asked. Where it was connected.
    std::string attempt_unconfirmed(const std::vector<std::string>& all)
    {
        std::string where = connect_and_lose(all);
        CHECK(ask_again(all) == step::wait);
        REQUIRE(next() == step::attempt);
        return where;
    }

    clock_type::time_point asked{}; ///< before the connection
};

} // namespace

TEST_CASE("a connection that ends has the names asked again, and the next attempt does not wait for them")
{
    names_scene s;
    const std::string first = s.connect_and_lose({"a", "b"});
    CHECK(s.c.now_in() == phase::pausing);
    CHECK(s.ask_again({"a", "b"}) == step::wait);
    CHECK(s.c.due() == s.now);
    CHECK(s.next() == step::attempt);
    CHECK(s.c.address().text != first);
}

TEST_CASE("where the list has addresses only, nothing is asked when a connection ends")
{
    connector_scene s;
    s.begin({"a", "b"});
    s.stay_connected();
    s.attempt_after(loss::connection);
    CHECK(s.c.believes_expiry(s.now));
}

TEST_CASE("the end of the session is believed where a name has led since the connection was lost, and nowhere else")
{
    names_scene s;
    s.attempt_unconfirmed({"a"});
    CHECK_FALSE(s.c.believes_expiry(s.now));

    SUBCASE("an answer that comes in the attempt confirms it") {
        s.now += 1ms;
        CHECK(s.answer({"a"}) == step::wait);
        CHECK(s.c.believes_expiry(s.now));
    }
    SUBCASE("the answer to a question from before does not") {
        CHECK(s.tell({{"a", s.now - 1ms}}) == step::wait);
        CHECK_FALSE(s.c.believes_expiry(s.now));
    }
    SUBCASE("another name's answer does not") {
        CHECK(s.tell({{"a", s.asked, s.now}, {"b", s.now}}) == step::wait);
        CHECK_FALSE(s.c.believes_expiry(s.now));
    }
    SUBCASE("that no name is known does not, however long ago") {
        CHECK(s.answer({}) == step::wait);
        s.now += 1h;
        CHECK_FALSE(s.c.believes_expiry(s.now));
    }
    SUBCASE("each loss asks anew") {
        CHECK(s.answer({"a"}) == step::wait);
        s.c.opened(12s);
        s.now += 1s;
        CHECK(s.c.lost(loss::connection, s.now) == step::resolve);
        REQUIRE(s.next() == step::attempt);
        CHECK_FALSE(s.c.believes_expiry(s.now));
    }
}

TEST_CASE("who has said too early that the session is over is asked again as soon as its name is answered")
{
    for (unsigned seed = 1; seed < 20; ++seed) {
        names_scene s(seed);
        s.attempt_unconfirmed({"a", "b", "c"});
        const std::string doubted = s.c.address().text;
        CHECK(s.c.lost(loss::disbelieved, s.now) == step::wait);

        SUBCASE("before the next attempt") {
            CHECK(s.answer({"a", "b", "c"}) == step::wait);
            CHECK(s.c.due() == s.now);
            CHECK(s.next() == step::attempt);
        }
        SUBCASE("after the present attempt") {
            REQUIRE(s.next() == step::attempt);
            CHECK(s.c.address().text != doubted);
            CHECK(s.answer({"a", "b", "c"}) == step::wait);
            s.attempt_after(loss::connection);
        }
        SUBCASE("in the pause after the cycle, which ends") {
            for (int others = 0; others < 2; ++others) {
                REQUIRE(s.next() == step::attempt);
                CHECK(s.c.lost(loss::connection, s.now) == step::wait);
            }
            REQUIRE(s.c.due() > s.now);
            CHECK(s.answer({"a", "b", "c"}) == step::wait);
            CHECK(s.c.due() == s.now);
            CHECK(s.next() == step::attempt);
        }
        CHECK(s.c.address().text == doubted);
        CHECK(s.c.believes_expiry(s.now));
        s.attempt_after(loss::session);
        CHECK(s.c.address().text == doubted); // for the new one
    }
}

TEST_CASE("a new session is begun at confirmed addresses only")
{
    names_scene s;
    s.connect_and_lose({"a", "b"});
    CHECK(s.tell({{"a", s.now}, {"b", s.asked, s.now}}) == step::wait);
    while (s.next() != step::attempt || s.c.address().text != "a") {
        CHECK(s.c.address().text == "b");
        CHECK(s.c.lost(loss::connection, s.now) == step::wait);
    }
    s.attempt_after(loss::session);
    CHECK(s.c.address().text == "a");
    CHECK(s.c.lost(loss::connection, s.now) == step::wait);
    CHECK(s.time_to(step::resolve) >= 50ms); // without a visit to b, and after a pause
    const auto told = s.now;

    SUBCASE("of which a later answer may bring one more") {
        CHECK(s.tell({{"b", told}}) == step::attempt);
        CHECK(s.c.address().text == "b");
    }
    SUBCASE("none of them: it waits, and asks again") {
        CHECK(s.tell({{"b", s.asked, told}}) == step::wait);
        CHECK(s.next() == step::resolve);
        CHECK(s.now - told >= 50ms);
        CHECK(s.answer({}) == step::wait);
        CHECK(s.next() == step::resolve);
        CHECK(s.answer({"b"}) == step::attempt);
    }
    SUBCASE("an attempt for it is ended when no name leads anywhere any more") {
        CHECK(s.answer({"a"}) == step::attempt);
        CHECK(s.answer({}) == step::leave);
    }
}

TEST_CASE("names that cannot be asked confirm their last addresses once the session should be over, with a warning")
{
    names_scene s;
    s.connect_and_lose({"a", "b"});
    const auto over = s.now + till_over;
    CHECK(s.ask_again({"a", "b"}) == step::wait);
    REQUIRE(s.next() == step::attempt);
    CHECK_FALSE(s.c.believes_expiry(over - 1ms));
    CHECK_FALSE(s.c.take_unanswered());
    s.now = over;
    CHECK(s.c.believes_expiry(s.now));
    CHECK(s.c.take_unanswered());
    CHECK(s.c.believes_expiry(s.now));
    CHECK_FALSE(s.c.take_unanswered()); // once is enough
    s.attempt_after(loss::session);     // and there is a new one
}

TEST_CASE(
    "of two names that led there, one moves in the attempt, and the other cannot be asked: there is a warning, too")
{
    names_scene s;
    s.connect_and_lose({"a"});
    const auto lost_at = s.now;
    s.now += 2s;
    CHECK(s.answer({"a"}) == step::wait);
    REQUIRE(s.next() == step::attempt);
    s.attempt_after(loss::session);
    CHECK_FALSE(s.c.take_unanswered());
    CHECK(s.tell({{"a", s.asked, lost_at}}) == step::wait);
    CHECK(s.c.take_unanswered());
}

TEST_CASE("once the session is over, each address has one attempt for a new one, whatever was said there before")
{
    for (unsigned seed = 1; seed < 20; ++seed) {
        names_scene s(seed);
        s.connect_and_lose({"a", "b"});
        const auto lost_at = s.now;
        const auto ask_in_vain = [&] { return s.tell({{"a", s.asked, lost_at}, {"b", s.asked, lost_at}}); };
        CHECK(ask_in_vain() == step::wait);
        REQUIRE(s.next() == step::attempt);
        s.attempt_after(loss::disbelieved);
        s.now += till_over;
        CHECK(s.c.believes_expiry(s.now));
        CHECK(s.c.lost(loss::session, s.now) == step::wait);
        for (int each = 0; each < 2; ++each) {
            REQUIRE(s.next() == step::attempt);
            CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        }
        CHECK(ask_in_vain() == step::wait);
        CHECK(s.next() == step::resolve);
    }
}

TEST_CASE(
    "a machine that sleeps: the session runs out meanwhile; a name that was asked before has its time to answer after")
{
    names_scene s;
    s.attempt_unconfirmed({"a"});
    SUBCASE("asked long before") {
        s.now += 2s;
        s.c.slept += till_over - 2s - 1ms;
        CHECK_FALSE(s.c.believes_expiry(s.now));
        s.c.slept += 1ms;
        CHECK(s.c.believes_expiry(s.now));
    }
    SUBCASE("asked right before") {
        s.c.slept += 1h;
        CHECK_FALSE(s.c.believes_expiry(s.now + 2s - 1ms));
        CHECK(s.c.believes_expiry(s.now + 2s));
    }
}

TEST_CASE("credentials are refused for good at confirmed addresses only, and not while another was not believed")
{
    names_scene s;
    const std::string lost = s.attempt_unconfirmed({"a", "b"});
    SUBCASE("all refuse, as long as it is not known where names lead") {
        s.attempt_after(loss::credentials);
        s.resolve_after(loss::credentials);
        CHECK(s.answer({"a", "b"}) == step::attempt);
        s.attempt_after(loss::credentials);
        CHECK(s.c.lost(loss::credentials, s.now) == step::wait);
        CHECK(s.c.now_in() == phase::closed);
    }
    SUBCASE("one refuses, and one that is not confirmed says that the session is over") {
        CHECK(s.c.lost(loss::disbelieved, s.now) == step::wait);
        CHECK(s.tell({{"a", lost == "a" ? s.now : s.asked}, {"b", lost == "b" ? s.now : s.asked}}) == step::wait);
        REQUIRE(s.next() == step::attempt);
        CHECK(s.c.address().text == lost);
        CHECK(s.c.lost(loss::credentials, s.now) == step::wait);
        CHECK(s.c.now_in() == phase::pausing);
    }
    SUBCASE("two that were not confirmed say so, and then one of them refuses: the other is asked again, too") {
        s.attempt_after(loss::disbelieved);
        CHECK(s.c.lost(loss::disbelieved, s.now) == step::wait);
        CHECK(s.answer({"a", "b"}) == step::wait);
        REQUIRE(s.next() == step::attempt);
        const std::string refuses = s.c.address().text;
        CHECK(s.c.lost(loss::credentials, s.now) == step::wait);
        REQUIRE(s.c.now_in() == phase::pausing);
        CHECK(s.next() == step::attempt);
        CHECK(s.c.address().text != refuses);
        CHECK(s.c.lost(loss::credentials, s.now) == step::wait);
        CHECK(s.c.now_in() == phase::closed);
    }
}

TEST_CASE("a name that was asked a moment ago can be asked: it confirms nothing by the clock")
{
    names_scene s;
    s.connect_and_lose({"a"});
    s.now += 1min;
    CHECK(s.tell({{"a", s.asked, s.now - 1s}}) == step::wait);
    REQUIRE(s.next() == step::attempt);
    CHECK_FALSE(s.c.believes_expiry(s.now));
    CHECK(s.c.believes_expiry(s.now + 1s));
}

TEST_CASE("an attempt under way to an address that is named no more is ended; a connection stays")
{
    names_scene s;
    s.attempt_unconfirmed({"a"});

    SUBCASE("an attempt") {
        CHECK(s.answer({"b"}) == step::leave);
        CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        CHECK(s.c.due() == s.now);
        CHECK(s.next() == step::attempt);
        CHECK(s.c.address().text == "b");
        CHECK(s.refuse_cycle() == std::multiset<std::string>{"b"});
    }
    SUBCASE("a connection") {
        s.c.opened(12s);
        CHECK(s.answer({"b"}) == step::wait);
        CHECK(s.c.now_in() == phase::connected);
        CHECK(s.c.address().text == "a");
        s.now += 1min;
        CHECK(s.c.lost(loss::connection, s.now) == step::resolve);
        CHECK(s.next() == step::attempt);
        CHECK(s.c.address().text == "b");
    }
    SUBCASE("where no name leads anywhere, the session may still be taken up where it was") {
        CHECK(s.answer({}) == step::wait);
        s.resolve_after(loss::connection);
        CHECK(s.answer({}) == step::attempt);
        CHECK(s.c.address().text == "a");
        CHECK_FALSE(s.c.believes_expiry(s.now));
    }
}

TEST_CASE("an address that is named no more leaves the cycle; the others are tried once each, the lost one last")
{
    for (unsigned seed = 1; seed < 40; ++seed) {
        names_scene s(seed);
        const std::string lost = s.connect_and_lose({"a", "b", "c", "d"});
        REQUIRE(s.next() == step::attempt);
        const std::string second = s.c.address().text;
        const bool refused = seed % 2 == 0;
        if (refused)
            CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        std::vector<std::string> left;
        for (const std::string each : {"a", "b", "c", "d"})
            if (each != second)
                left.push_back(each);
        std::erase_if(left, [&, gone = false](const std::string& each) mutable {
            return !gone && each != lost && (gone = true);
        });
        CHECK(s.answer(left) == (refused ? step::wait : step::leave));
        if (!refused)
            CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        std::vector<std::string> tried;
        while (s.next() == step::attempt) {
            tried.push_back(s.c.address().text);
            CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        }
        REQUIRE(tried.size() == 2);
        CHECK(tried.back() == lost);
        CHECK(std::multiset<std::string>(tried.begin(), tried.end()) ==
              std::multiset<std::string>(left.begin(), left.end()));
    }
}

} // namespace zklock::unit::connecting

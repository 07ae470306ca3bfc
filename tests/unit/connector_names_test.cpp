// What the connector makes of the names and addresses that it hears of, and of TLS with them.
#include "connector_scene.hpp"

namespace zklock::unit::connecting {

TEST_CASE("names")
{
    connector_scene s;
    REQUIRE(s.c.begin(s.now) == step::resolve);

    SUBCASE("a cycle waits for those that are looked up, for a moment") {
        CHECK(s.c.names_known({addresses({"a"}), true, false}, s.now) == step::wait);
        CHECK(s.time_to(step::attempt) == 200ms);
        CHECK(s.c.address().text == "a");
        CHECK(s.c.take_names_missing());
        CHECK_FALSE(s.c.take_names_missing());
    }
    SUBCASE("where nothing is known, the first answer is tried at once") {
        CHECK(s.c.names_known({addresses({}), true, false}, s.now) == step::wait);
        s.now += 200ms;
        CHECK(s.c.time_passed(s.now) == step::wait);
        CHECK(s.c.take_names_missing());
        CHECK(s.c.names_known({addresses({"b"}), true, false}, s.now) == step::wait);
        CHECK(s.time_to(step::attempt) == 0s);
        CHECK(s.c.address().text == "b");
    }
    SUBCASE("where nothing is known, those that have failed are asked for again while others are not answered") {
        CHECK(s.c.names_known({addresses({}), true, false}, s.now) == step::wait);
        const auto paused = s.time_to(step::resolve);
        CHECK(paused >= 200ms);
        CHECK(paused <= 300ms);
        CHECK(s.c.names_known({addresses({"b"}), false, false}, s.now) == step::attempt);
        CHECK(s.c.address().text == "b");
    }
    SUBCASE("an address that comes late is the next to be tried") {
        CHECK(s.c.names_known({addresses({"a"}), true, false}, s.now) == step::wait);
        CHECK(s.next() == step::attempt);
        CHECK(s.c.names_known({addresses({"a", "b"}), false, true}, s.now) == step::wait);
        s.attempt_after(loss::connection);
        CHECK(s.c.address().text == "b");
    }
    SUBCASE("an address that comes in the pause ends it") {
        CHECK(s.c.names_known({addresses({"a"}), true, false}, s.now) == step::wait);
        CHECK(s.next() == step::attempt);
        CHECK(s.c.lost(loss::connection, s.now) == step::wait);
        CHECK(s.c.names_known({addresses({"a", "b"}), false, true}, s.now) == step::wait);
        CHECK(s.time_to(step::attempt) == 0s);
        CHECK(s.c.address().text == "b");
    }
    SUBCASE("where there is none, it is asked again after a pause") {
        CHECK(s.c.names_known({}, s.now) == step::wait);
        const auto paused = s.time_to(step::resolve);
        CHECK(paused > 0s);
        CHECK(paused <= 100ms);
    }
}

TEST_CASE("an address that is known by another name, too, is tried once, with all its names")
{
    using test::address_called;
    connector_scene s;
    s.begin({"a", "b"});
    const std::string present = s.c.address().text;
    const std::string other = present == "a" ? "b" : "a";
    CHECK(s.c.names_known({{address_called(present, {"x", "y"}), address_called(other)}, false, true}, s.now) ==
          step::wait);
    CHECK(s.c.address().given.size() == 2);
    CHECK(s.refuse_cycle() == std::multiset<std::string>{"a", "b"});
}

TEST_CASE("an attempt goes on by each name of its address once; after silence the next begins with another")
{
    using test::address_called;
    connector_scene s;
    const auto both = [] { return connector::names{{address_called("a", {"x", "y"})}, false, true}; };
    REQUIRE(s.c.begin(s.now) == step::resolve);
    REQUIRE(s.c.names_known(both(), s.now) == step::attempt);
    CHECK(s.c.name().host == "x");
    CHECK(s.c.try_next_name());
    CHECK(s.c.name().host == "y");
    CHECK_FALSE(s.c.try_next_name());
    s.resolve_after(loss::security);
    CHECK(s.c.names_known(both(), s.now) == step::attempt);
    CHECK(s.c.name().host == "x");
    CHECK(s.next() == step::end_attempt);
    s.c.name_unanswered();
    s.resolve_after(loss::connection);
    CHECK(s.c.names_known(both(), s.now) == step::attempt);
    CHECK(s.c.name().host == "y");
    CHECK(s.c.try_next_name());
    CHECK(s.c.name().host == "x");
    s.c.opened(12s);
    CHECK(s.c.lost(loss::connection, s.now += 1min) == step::wait);
    CHECK(s.next() == step::attempt);
    CHECK(s.c.name().host == "x"); // which was the right one
}

TEST_CASE("whether TLS has failed with all servers")
{
    connector_scene s;
    s.begin({"a", "b"});
    const auto fail = [&](loss what) {
        CHECK(s.c.lost(what, s.now) == step::wait);
        s.next_attempt({"a", "b"});
    };
    fail(loss::security);
    CHECK_FALSE(s.c.all_insecure()); // there is another one
    CHECK(s.c.lost(loss::security, s.now) == step::wait);
    CHECK(s.c.all_insecure());
    CHECK(s.next() == step::resolve);
    s.resolve({"a", "b"});
    CHECK(s.c.all_insecure());

    SUBCASE("not, when one of them cannot be reached any more") {
        fail(loss::security);
        CHECK(s.c.all_insecure());
        fail(loss::connection);
        CHECK_FALSE(s.c.all_insecure());
        fail(loss::connection);
        fail(loss::security);
        CHECK_FALSE(s.c.all_insecure());
        fail(loss::security);
        fail(loss::security);
        CHECK(s.c.all_insecure());
    }
    SUBCASE("not, when there is a connection") {
        s.c.opened(12s);
        CHECK_FALSE(s.c.all_insecure());
        fail(loss::connection);
        fail(loss::security);
        CHECK_FALSE(s.c.all_insecure());
        fail(loss::security);
        CHECK(s.c.all_insecure());
    }
    SUBCASE("not, when a server has spoken of the session") {
        fail(loss::session);
        CHECK_FALSE(s.c.all_insecure());
    }
}

} // namespace zklock::unit::connecting

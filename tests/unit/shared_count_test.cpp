// The maximum of a semaphore where that is the data of a node.
#include "semaphore_scene.hpp"

using namespace zklock::unit;

namespace {

semaphore_options counted_at(std::string path)
{
    semaphore_options o = permits_of(2);
    o.count_path = std::move(path);
    return o;
}

const std::string two = recipes::count_data(2);

} // namespace

TEST_CASE("where it is missing, it is made with what is above it, and read again")
{
    semaphore_scene s;
    const auto a = s.want(1, counted_at("/c/n"));
    s.give_line();
    asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
    asked(s).to("get /c/n").ends(outcome::no_node).to("children /s/leases").list({s.permit(2, 7)});
    asked(s).only("persistent /c/n").ends(outcome::no_node).only("container /c").ends(outcome::ok);
    asked(s).all_of({"get /c/n", "children /s/leases"});
    asked(s).to("get /c/n").ends(outcome::no_node).to("children /s/leases").list({s.permit(2, 7)});
    SUBCASE("it was made")
        asked(s).only("persistent /c/n").ends(outcome::ok);
    SUBCASE("somebody else was faster")
        asked(s).only("persistent /c/n").ends(outcome::node_exists);
    asked(s).all_of({"get /c/n", "children /s/leases"}).to("get /c/n").show_version(0, two);
    CHECK_FALSE(a->ended);
    asked(s).only("children /s/leases").list({s.permit(2, 7)});
    CHECK(a->ended == error_code());
}

TEST_CASE("what is no count, or may not be read, ends the head's wait")
{
    semaphore_scene s;
    const auto a = s.want(1, counted_at("/n"));
    s.give_line();
    SUBCASE("no count") {
        asked(s).to("get /n").show_version(0, "12345");
        CHECK(a->ended == errc::invalid_option);
    }
    SUBCASE("not ours to read") {
        asked(s).to("get /n").ends(outcome::no_auth);
        CHECK(a->ended == errc::access_denied);
    }
    SUBCASE("missing, and not ours to make") {
        asked(s).to("get /n").ends(outcome::no_node).to("persistent /n").ends(outcome::no_auth);
        CHECK(a->ended == errc::access_denied);
    }
}

TEST_CASE("whoever has been told that the shared count has changed is not granted by the old one")
{
    semaphore_scene s;
    const auto a = s.want(1, counted_at("/n"));
    s.give_line();
    const std::vector<std::string> full{"x", "y", s.permit(2, 7)}, room{"x", s.permit(2, 7)};
    const auto none = recipes::count_data(0);
    asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
    asked(s).to("get /n").show_version(0, two).to("children /s/leases").list(full);
    asked(s).all_of({"watch /n", "watch children /s/leases"});
    asked(s).to("watch /n").show_version(0, two).to("watch children /s/leases").list(full);
    s.event(store::event_kind::children_changed, "/s/leases");
    const auto list = asked(s).only("watch children /s/leases").kept();
    s.event(store::event_kind::data_changed, "/n"); // before the answer: the server knew of it first
    list.list(room);
    s.clock.run();
    CHECK_FALSE(a->ended);
    asked(s).all_of({"get /n", "children /s/leases"});
    asked(s).to("get /n").show_version(0, none).to("children /s/leases").list(room);
    CHECK_FALSE(a->ended);
    asked(s).all_of({"watch /n", "watch children /s/leases"});
    asked(s).to("watch /n").show_version(0, two).to("watch children /s/leases").list(room);
    CHECK(a->ended == error_code());
}

TEST_CASE("nobody wants permits any more: its watch is taken back, once the answer that sets it has come")
{
    semaphore_scene s;
    const auto a = s.want(1, counted_at("/n"));
    s.give_line();
    const std::vector<std::string> full{"x", "y", s.permit(2, 7)};
    asked(s).to("create " + s.permit_prefix(2)).number(60, 7);
    asked(s).to("get /n").show_version(0, two).to("children /s/leases").list(full);
    asked(s).all_of({"watch /n", "watch children /s/leases"});
    s.withdraw(*a);
    asked(s).all_of({"watch /n", "watch children /s/leases", "remove " + s.permit_node(2, 7), s.leave_line(1)});
    asked(s).to("watch /n").show_version(0, two).to("unwatch /n").ends(outcome::ok);
    asked(s).to("watch children /s/leases").list(full).to("unwatch /s/leases").ends(outcome::ok);
    asked(s).to("remove " + s.permit_node(2, 7)).ends(outcome::ok);
    asked(s).to(s.leave_line(1)).ends(outcome::ok).nothing_else();
}

TEST_CASE("as bytes")
{
    CHECK(recipes::count_data(258) == std::string("\0\0\1\2", 4));
    for (const std::int32_t n : {0, 1, 255, 65536, 2147483647, -1})
        CHECK(recipes::count_of(recipes::count_data(n)) == n);
    CHECK_FALSE(recipes::count_of("12345"));
    CHECK_FALSE(recipes::count_of(""));
}

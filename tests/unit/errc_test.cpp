#include "zklock/errc.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace zklock;
using boost::system::error_code;

TEST_CASE("each has a message of its own; some are the standard's")
{
    std::set<std::string> messages;
    constexpr int last = static_cast<int>(errc::tls_failed);
    for (int value = 1; value <= last; ++value)
        messages.insert(make_error_code(static_cast<errc>(value)).message());
    CHECK(messages.size() == last);
    CHECK_FALSE(messages.contains(make_error_code(static_cast<errc>(last + 1000)).message()));
    namespace generic = boost::system::errc;
    CHECK(make_error_code(errc::no_node) == generic::no_such_file_or_directory);
    CHECK(make_error_code(errc::node_exists) == generic::file_exists);
    CHECK(make_error_code(errc::not_empty) == generic::directory_not_empty);
    CHECK(make_error_code(errc::bad_version) != generic::success);
}

TEST_CASE("not in time: whichever of three a deadline has, and no other")
{
    const std::set<errc> at_a_deadline{errc::timed_out, errc::not_connected, errc::tls_failed};
    for (int value = 1; value <= static_cast<int>(errc::quota_exceeded); ++value) {
        const auto e = static_cast<errc>(value);
        CAPTURE(e);
        CHECK((make_error_code(e) == condition::not_in_time) == at_a_deadline.contains(e));
    }
    CHECK(std::error_code(make_error_code(errc::timed_out)) == condition::not_in_time);
    CHECK(std::error_code(make_error_code(errc::busy)) != condition::not_in_time);
    const error_code none;
    CHECK(none != condition::not_in_time);
    CHECK(error_code(1, boost::system::generic_category()) != condition::not_in_time);
    CHECK(make_error_code(errc::timed_out) != make_error_condition(static_cast<condition>(2)));
    CHECK(make_error_condition(condition::not_in_time).message() == "not in time");
    CHECK(to_string(condition::not_in_time) == "not_in_time");
}

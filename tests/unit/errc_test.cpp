#include "zklock/errc.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace zklock;

TEST_SUITE("errors")
{
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
}

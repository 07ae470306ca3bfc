// What formats enumerations, where it is there to be tested.
#include "zklock/format.hpp"

#if __has_include(<fmt/format.h>)
#define FMT_HEADER_ONLY
#include "zklock/fmt.hpp"
#endif

#include <doctest/doctest.h>

using namespace zklock;

#if __has_include(<fmt/format.h>)
TEST_CASE("{fmt} takes each enumeration, by its name")
{
    CHECK(fmt::format("{} {} {}", acl::open, connection_state::failed, errc::lost) == "open failed lost");
    CHECK(fmt::format("{} {} {}", lock_event::kind::queued, log_level::info, naming::kazoo) == "queued info kazoo");
    CHECK(fmt::format("{} {}", loss_reason::lease_ended, loss_reason::forked) == "lease_ended forked");
    CHECK(fmt::format("{} {} {:>6}", node_kind::ephemeral, parent_kind::persistent,
                      transaction::operation::kind::set) == "ephemeral persistent    set");
}
#endif
#ifdef __cpp_lib_format
TEST_CASE("std::format takes each enumeration, by its name")
{
    CHECK(std::format("{} {} {}", acl::open, connection_state::failed, errc::lost) == "open failed lost");
    CHECK(std::format("{} {} {}", lock_event::kind::queued, log_level::info, naming::kazoo) == "queued info kazoo");
    CHECK(std::format("{} {}", loss_reason::lease_ended, loss_reason::forked) == "lease_ended forked");
    CHECK(std::format("{} {} {:>6}", node_kind::ephemeral, parent_kind::persistent,
                      transaction::operation::kind::set) == "ephemeral persistent    set");
}
#endif

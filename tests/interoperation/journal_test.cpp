// The check of what peers have noted is checked, too.
#include "interoperation/journal.hpp"
#include "support/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace zklock::test;

namespace {

std::string judged(const std::vector<std::string>& lines, const std::map<std::string, std::size_t>& permits = {})
{
    const temporary_directory directory;
    journal noted(directory.path() / "journal");
    for (const auto& line : lines)
        noted.note(line);
    return violations(noted.events(), permits);
}

} // namespace

TEST_CASE("one after the other, each with a higher number")
{
    CHECK(judged({"a 1 granted 5 exclusive /p/x-0000000001", "a 1 leaving 6", "b 7 granted 8 exclusive /p/y-0000000004",
                  "b 8 granted 9 exclusive /q/y-0000000000", "b - killed 9", "a 1 granted 9 exclusive /p/x-0000000005"})
              .empty());
    // The same node again: it lingered, or serves a cohort.
    CHECK(
        judged({"a 1 granted 5 exclusive /p/x-0000000001", "a 1 leaving 6", "a 2 granted 5 exclusive /p/x-0000000001"})
            .empty());
}

TEST_CASE("two inside, or out of order")
{
    CHECK(judged({"a 1 granted 5 exclusive /p/x-0000000001", "b 1 granted 6 exclusive /p/x-0000000002"})
              .starts_with("inside together"));
    CHECK(judged({"a 1 granted 5 exclusive /p/x-0000000001", "a 2 leaving 5", "b 1 granted 6 shared /p/x-0000000002"})
              .starts_with("inside together"));
    CHECK(judged({"a 1 granted 5 shared /p/x-0000000001", "b - killed 5", "b 1 granted 6 exclusive /p/x-0000000002"})
              .starts_with("inside together"));
    CHECK(
        judged({"a 1 granted 5 exclusive /p/x-0000000002", "a 1 leaving 6", "b 1 granted 7 exclusive /p/x-0000000001"})
            .starts_with("out of order"));
}

TEST_CASE("sharing, and from exclusive to shared")
{
    CHECK(judged({"a 1 granted 5 shared /p/x-0000000001", "a 2 granted 5 shared /p/x-0000000000"}).empty());
    CHECK(
        judged({"a 1 granted 5 exclusive /p/x-0000000001", "a 1 downgrading 6", "a 2 granted 7 shared /p/x-0000000003"})
            .empty());
    CHECK(judged({"a 1 granted 5 shared /p/x-0000000003", "a 1 leaving 6", "b 1 granted 7 exclusive /p/x-0000000002"})
              .starts_with("out of order"));
    CHECK(judged({"a 1 granted 5 exclusive /p/x-0000000003", "a 1 leaving 6", "b 1 granted 7 shared /p/x-0000000002"})
              .starts_with("out of order"));
}

TEST_CASE("permits")
{
    const std::map<std::string, std::size_t> three{{"/s", 3}};
    CHECK(judged({"a 1 granted 5 2 /s/x-0000000003", "b 1 granted 6 1 /s/x-0000000002"}, three).empty());
    CHECK(judged({"a 1 granted 5 2 /s/x-0000000003", "b 1 granted 6 2 /s/x-0000000004"}, three)
              .starts_with("inside together"));
    CHECK(judged({"a 1 granted 5 2 /s/x-0000000003", "a 1 leaving 6", "b 1 granted 6 3 /s/x-0000000004", "b - killed 7",
                  "a 1 granted 8 1 /s/x-0000000005"},
                 three)
              .empty());
}

TEST_CASE("permits of several paths: each path has its own number, and has to have one")
{
    const std::vector<std::string> both{"a 1 granted 5 2 /s/x-0000000003", "b 1 granted 6 4 /t/x-0000000004"};
    CHECK(judged(both, {{"/s", 3}, {"/t", 4}}).empty());
    CHECK(judged(both, {{"/s", 3}, {"/t", 3}}).starts_with("inside together: b 1 with /t/x-0000000004"));
    CHECK(judged(both, {{"/t", 4}}) == "nobody said how many permits /s has\n");
}

TEST_CASE("a journal is read as it is written; a failure is told to those who wait")
{
    const temporary_directory directory;
    journal noted(directory.path() / "journal");
    CHECK(noted.events().empty());
    noted.note("a - ready 1");
    noted.wait_for("a", "-", "ready");
    noted.note("a 3 granted 2 exclusive /p/x-0000000003");
    CHECK(noted.count("a", "3", "granted") == 1);
    CHECK(noted.words_of("a", "3", "granted").at(1) == "/p/x-0000000003");
    CHECK_THROWS_AS(static_cast<void>(noted.words_of("b", "3", "granted")), std::runtime_error);
    noted.note("a 4 failed 3 for some reason");
    CHECK_THROWS_AS(noted.wait_for("a", "4", "granted"), std::runtime_error);
    CHECK(noted.events().size() == 3);
}

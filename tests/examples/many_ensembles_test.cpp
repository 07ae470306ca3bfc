// The example of paths that are spread over several ensembles, on two real ones (of one server each).
#include "example.hpp"
#include "support/admin_client.hpp"
#include "support/expect_clean.hpp"

#include <cstddef>
#include <map>

using namespace zklock::test;

namespace {

std::size_t count(const std::map<std::string, std::string>& where, const std::string& name)
{
    std::size_t n = 0;
    for (const auto& [path, ensemble] : where)
        n += ensemble == name;
    return n;
}

/// Runs it to its end. Gives the ensemble of each path.
std::map<std::string, std::string> placed(const std::vector<std::string>& ensembles)
{
    example program("many_ensembles", ensembles);
    CHECK(program.wait() == 0);
    std::map<std::string, std::string> where;
    std::istringstream text(program.printed());
    std::string name, what;
    for (; text >> name >> what && what.starts_with('/');) // such as: north /shop/article-7/_c_…-lock-0000000000
        where[what.substr(0, what.rfind('/'))] = name;
    for (; text; text >> name >> what) { // such as: north: 51 locks
        CHECK(what == std::to_string(count(where, name.substr(0, name.size() - 1))));
        text >> what;
    }
    return where;
}

} // namespace

TEST_CASE("paths are spread over two ensembles, by their names alone")
{
    server_options options;
    options.container_check_interval = std::chrono::hours(1); // what a lock's path leaves behind is looked for
    zookeeper_server first(options), second(options);
    const std::string north = "north=" + first.address(), south = "south=" + second.address();
    const auto where = placed({north, south});
    REQUIRE(where.size() == 100);
    CHECK(count(where, "north") >= 35);
    CHECK(count(where, "south") >= 35);

    // Each lock was held where the program says so, and nowhere else: its path is (still) there.
    admin_client at_north(first.port()), at_south(second.port());
    for (const auto& [path, name] : where) {
        CHECK(at_north.exists(path).has_value() == (name == "north"));
        CHECK(at_south.exists(path).has_value() == (name == "south"));
    }
    at_north.close();
    at_south.close();

    CHECK(placed({south, north}) == where); // the order of the list does not count
    // Nor do the addresses.
    CHECK(placed({"north=" + second.address(), "south=" + first.address()}) == where);
    expect_clean(first);
    expect_clean(second);
}

TEST_CASE("an ensemble that is added takes a share of the paths, and no other path moves")
{
    zookeeper_server second;
    const std::string north = "north=" + server().address(), south = "south=" + second.address();
    const auto before = placed({north, south});
    const auto after = placed({north, south, "west=" + second.address()});
    REQUIRE(after.size() == 100);
    CHECK(count(after, "west") >= 20);
    for (const auto& [path, name] : after)
        if (name != "west")
            CHECK(before.at(path) == name);
}

TEST_CASE("two ensembles of one name are refused: the order of the list would decide between them")
{
    example program("many_ensembles", {"north=127.0.0.1:1", "north=127.0.0.1:2"});
    program.expect(2, "two ensembles are called north\n");
}

TEST_CASE("an ensemble that is down costs its own paths, and says so")
{
    example program("many_ensembles", {"north=" + server().address(), "south=127.0.0.1:1"});
    program.expect(1, "(north /shop/article-.*\n)*south: not connected, or no answer of the servers in time\n");
}

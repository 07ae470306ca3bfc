// How many servers have voted, of those behind a cycle's addresses.
#include "address_scene.hpp"
#include "bridge/connection/connect_cycle.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace zklock;
using test::address_called;

namespace {

struct voting {
    explicit voting(const std::vector<bridge::address_ptr>& all)
    {
        std::minstd_rand random(1);
        cycle.begin(
            all, [](const bridge::server_address&) { return true; }, random);
    }
    /// The server at that address votes. True if that decides.
    bool by(const std::string& address)
    {
        while (cycle.present()->text != address)
            cycle.go_on();
        const bool decides = cycle.vote_decides();
        cycle.count_vote();
        return decides;
    }

    bridge::connect_cycle cycle;
};

} // namespace

TEST_CASE("a server that is reached by two families is one, though it may serve one of them only")
{
    const std::vector both{address_called("127.0.0.1:2181", {"localhost"}),
                           address_called("[::1]:2181", {"localhost"})};
    CHECK(voting(both).by("127.0.0.1:2181"));
    CHECK(voting(both).by("[::1]:2181"));
}

TEST_CASE("the addresses of one family are servers of their own, whatever name leads there")
{
    const std::vector all{address_called("10.0.0.1:2181", {"zk"}), address_called("10.0.0.2:2181", {"zk"}),
                          address_called("10.0.0.3:2181", {"zk"})};
    voting v(all);
    CHECK_FALSE(v.by("10.0.0.1:2181"));
    CHECK(v.by("10.0.0.2:2181"));
}

TEST_CASE("one server has no two votes, behind one name with the others or by a name of its own")
{
    for (const bool own_name : {false, true}) {
        std::vector<bridge::address_ptr> all;
        for (const std::string i : {"1", "2", "3"}) {
            const std::vector names{own_name ? "zk" + i : "zk"};
            all.push_back(address_called("10.0.0." + i + ":2181", names));
            all.push_back(address_called("[fd00::" + i + "]:2181", names));
        }
        voting v(all);
        CHECK_FALSE(v.by("10.0.0.1:2181"));
        CHECK_FALSE(v.by("[fd00::1]:2181"));
        CHECK(v.by("10.0.0.2:2181"));
    }
}

TEST_CASE("an address in the list, and a name that leads there, are one server's")
{
    const std::vector all{address_called("10.0.0.1:2181", {"10.0.0.1", "zk1"}),
                          address_called("[fd00::1]:2181", {"zk1"})};
    CHECK(voting(all).by("10.0.0.1:2181"));
    const std::vector two{all[0], all[1], address_called("10.0.0.2:2181", {"zk2"})};
    voting v(two);
    CHECK_FALSE(v.by("10.0.0.1:2181"));
    CHECK_FALSE(v.by("[fd00::1]:2181"));
    CHECK(v.by("10.0.0.2:2181"));
}

TEST_CASE("an address that has left votes no more: its server may have come back by another")
{
    std::vector all{address_called("10.0.0.1:2181", {"zk"}), address_called("10.0.0.2:2181", {"zk"}),
                    address_called("10.0.0.3:2181", {"zk"})};
    voting v(all);
    CHECK_FALSE(v.by("10.0.0.1:2181"));
    v.cycle.go_on();
    v.cycle.keep_if([](const bridge::server_address& each) { return each.text != "10.0.0.1:2181"; });
    CHECK_FALSE(v.cycle.join(address_called("10.0.0.4:2181", {"zk"}), false, true));
    CHECK(v.cycle.join(address_called("10.0.0.4:2181", {"zk"}), true, true));
    CHECK_FALSE(v.by("10.0.0.4:2181"));
    CHECK(v.by("10.0.0.2:2181"));
}

TEST_CASE("addresses in the list are servers each; half of them are not more than half")
{
    const std::vector all{address_called("10.0.0.1:2181", {"10.0.0.1"}), address_called("[fd00::1]:2181", {"fd00::1"})};
    voting v(all);
    CHECK_FALSE(v.by("10.0.0.1:2181"));
    CHECK(v.by("[fd00::1]:2181"));
}

TEST_CASE("a vote is of its cycle")
{
    const std::vector all{address_called("10.0.0.1:2181", {"zk"}), address_called("10.0.0.2:2181", {"zk"}),
                          address_called("10.0.0.3:2181", {"zk"})};
    voting v(all);
    CHECK_FALSE(v.by("10.0.0.1:2181"));
    v.cycle.begin_again();
    CHECK_FALSE(v.by("10.0.0.2:2181"));
}

TEST_CASE("a server that has answered by a vote has not refused the credentials")
{
    const std::vector all{address_called("10.0.0.1:2181", {"zk"}), address_called("10.0.0.2:2181", {"zk"}),
                          address_called("10.0.0.3:2181", {"zk"})};
    voting v(all);
    v.cycle.count_refusal();
    CHECK(v.cycle.all_refused());
    CHECK_FALSE(v.by("10.0.0.2:2181"));
    CHECK_FALSE(v.cycle.all_refused());
}

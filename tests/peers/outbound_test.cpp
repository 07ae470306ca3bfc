#include "bridge/peers/offers.hpp"
#include "bridge/peers/outbound.hpp"
#include "peers_scene.hpp"

using namespace zklock::test;
using namespace zklock::bridge::peering;

namespace {

struct call {
    outbound peer{commit, at(0s)};
    std::string out;
    std::vector<outbound::proof> heard;

    verdict hears(const std::string& what, lease_clock::duration when = 0s)
    {
        return peer.receive(bytes_of(what), at(when), out, heard);
    }
    void wants(unsigned number, lease_clock::duration when = 0s) { peer.want(node(number), at(when), out); }
};

/// How many bytes a client says to somebody who does not greet, whatever else comes from there.
std::size_t said_before_the_greeting()
{
    call c;
    c.wants(1);
    c.peer.want_no_more(node(1), at(0s), c.out);
    c.wants(2);
    const std::string all_but_the_last = greeting_text().substr(0, greeting.size() - 1);
    CHECK(c.hears(all_but_the_last) == verdict::go_on);
    c.wants(3);
    CHECK(c.hears("220 mail.example.org ESMTP") == verdict::hang_up);
    return c.out.size();
}

} // namespace

TEST_SUITE("peers: to whom we connect")
{
    TEST_CASE("nothing is said before the greeting, and a bug that speaks first is found")
    {
        CHECK(said_before_the_greeting() == 0);
        const with_mutant now(mutants::id::client_speaks_first);
        CHECK(said_before_the_greeting() != 0);
    }

    TEST_CASE("after the greeting, all that is waited for is said, and then each as it comes")
    {
        call c;
        c.wants(2);
        c.wants(1);
        c.wants(3);
        c.peer.want_no_more(node(2), at(0s), c.out);
        const std::string hello = greeting_text();
        for (const char each : hello)
            CHECK(c.hears(std::string(1, each)) == verdict::go_on);
        CHECK(c.peer.greeted());
        CHECK(c.out == test::wish(peering::wish::subscribe, 1) + test::wish(peering::wish::subscribe, 3));
        c.out.clear();
        c.wants(4);
        c.wants(4);
        c.peer.want_no_more(node(1), at(0s), c.out);
        c.peer.want_no_more(node(1), at(0s), c.out);
        CHECK(c.out == test::wish(peering::wish::subscribe, 4) + test::wish(peering::wish::unsubscribe, 1));
    }

    TEST_CASE("who does not greet within a second, or greets with another version, is hung up on")
    {
        call c;
        c.wants(1);
        CHECK(c.peer.due() == at(1s));
        CHECK(c.peer.time_passed(at(999ms)) == verdict::go_on);
        CHECK(c.peer.time_passed(at(1s)) == verdict::hang_up);
        call other;
        std::string later = greeting_text();
        ++later.back();
        CHECK(other.hears(later) == verdict::hang_up);
    }

    TEST_CASE("where nothing is waited for any more as the greeting comes, the connection stays for the next wait")
    {
        call c;
        c.wants(1);
        c.wants(2);
        c.peer.want_no_more(node(1), at(0s), c.out);
        c.peer.want_no_more(node(2), at(0s), c.out);
        CHECK(c.hears(greeting_text()) == verdict::go_on);
        CHECK(c.out == test::wish(peering::wish::subscribe, 2) + test::wish(peering::wish::unsubscribe, 2));
        CHECK(c.peer.idle());
        CHECK(c.peer.time_passed(at(30s)) == verdict::hang_up);
    }

    TEST_CASE("a secret proves what it is of, and is asked for once")
    {
        call c;
        c.wants(1);
        CHECK(c.hears(greeting_text() + certificate(9) + certificate(1)) == verdict::go_on);
        REQUIRE(c.heard.size() == 2);
        CHECK(c.heard[0].secret == secret(9));
        CHECK_FALSE(c.heard[0].asked_for);
        CHECK(c.heard[1].of == node(1));
        CHECK(c.heard[1].asked_for);
        CHECK(c.peer.idle());
        c.out.clear();
        c.peer.want_no_more(node(1), at(0s), c.out);
        CHECK(c.out.empty());
    }

    TEST_CASE("who says what it was not asked for, without end, is hung up on")
    {
        call c;
        c.wants(1);
        CHECK(c.hears(greeting_text()) == verdict::go_on);
        unsigned taken = 0;
        while (c.hears(certificate(100)) == verdict::go_on)
            ++taken;
        CHECK(taken == 1024);
        CHECK(c.heard.size() == taken);
    }

    TEST_CASE("who says it bit by bit, without end, is hung up on")
    {
        call c;
        c.wants(1);
        CHECK(c.hears(greeting_text()) == verdict::go_on);
        const std::string said = certificate(100);
        unsigned taken = 0;
        while (c.hears(said.substr(taken % said.size(), 1)) == verdict::go_on)
            ++taken;
        CHECK(taken == 1024);
    }

    TEST_CASE("no more is waited for over a connection than the other end takes")
    {
        call c;
        CHECK(c.hears(greeting_text()) == verdict::go_on);
        c.out.clear();
        for (unsigned i = 0; i < 2'000; ++i)
            c.wants(i);
        CHECK(c.out.size() == outbound::most_wanted * sizeof(wish_frame));
        static_assert(outbound::most_wanted == offers::most_of_a_peer);
    }

    TEST_CASE("who answers may tell of the nodes before without end")
    {
        call c;
        c.wants(1);
        CHECK(c.hears(greeting_text()) == verdict::go_on);
        for (unsigned i = 0; i < 5'000; ++i) {
            c.wants(10'000 + i);
            for (unsigned before = 0; before < 8; ++before)
                REQUIRE(c.hears(certificate(before)) == verdict::go_on);
            REQUIRE(c.hears(certificate(10'000 + i)) == verdict::go_on);
            c.heard.clear();
        }
    }

    TEST_CASE("what is no certificate ends it")
    {
        call c;
        c.wants(1);
        CHECK(c.hears(greeting_text() + std::string(33, '\1')) == verdict::hang_up);
        CHECK(c.heard.empty());
    }

    TEST_CASE("it is kept while it waits, and for a while after its last use")
    {
        call c;
        c.wants(1);
        CHECK(c.hears(greeting_text()) == verdict::go_on);
        CHECK(c.peer.time_passed(at(30s)) == verdict::go_on);
        CHECK(c.peer.time_passed(at(60s)) == verdict::go_on);
        CHECK(c.hears(certificate(1), 70s) == verdict::go_on);
        CHECK(c.peer.time_passed(at(90s)) == verdict::go_on);
        CHECK(c.peer.due() == at(100s));
        CHECK(c.peer.time_passed(at(100s)) == verdict::hang_up);
    }
}

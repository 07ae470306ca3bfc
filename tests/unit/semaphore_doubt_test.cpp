// Leases of which nobody knows whether they were made.
#include "semaphore_scene.hpp"

#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::unit;

TEST_SUITE("semaphore, permits in doubt")
{
    TEST_CASE("a create of unknown outcome is looked for after a sync, and kept, made again or deleted")
    {
        for (const bool wanted : {true, false})
            for (const bool there : {true, false}) {
                semaphore_scene s;
                const auto a = s.want(1, permits_of(1));
                s.give_line();
                if (!wanted)
                    CHECK(a->handle->withdraw());
                s.reconnect();
                CAPTURE(wanted);
                CAPTURE(there);
                CHECK(s.servers.requests.front().what == "sync /"); // before the look
                REQUIRE(s.answer_until("children /s/leases"));
                s.list(there ? std::vector<std::string>{s.permit(2, 7)} : std::vector<std::string>{});
                CAPTURE(s.servers.pending());
                CHECK(s.servers.asks("create /s/leases") == (wanted && !there));
                CHECK(s.servers.asks("remove /s/leases/" + s.permit(2, 7)) == (!wanted && there));
            }
    }

    TEST_CASE("what a look-up did not find is looked for again, until a write has shown that the server is up to date")
    {
        for (const bool wrote : {false, true}) {
            CAPTURE(wrote);
            semaphore_scene s;
            const auto a = s.want(1, permits_of(2));
            s.give_line();
            s.reconnect(); // the create of permit 2 is lost, and has been done
            REQUIRE(s.answer_until("children /s/leases"));
            s.list({}); // by a leader that does not know what happened since
            REQUIRE(s.answer_until("create /s/leases/_c_00000000-0000-4000-8000-000000000003-lease-"));
            if (wrote) {
                s.number(61, 8);
                REQUIRE(s.answer_until("children /s/leases"));
            }
            s.reconnect();
            CHECK(s.servers.asks("sync /") != wrote);
            if (!wrote) {
                REQUIRE(s.answer_until("children /s/leases"));
                s.list({s.permit(2, 7)});
                CHECK(s.servers.asks("remove /s/leases/" + s.permit(2, 7)));
                REQUIRE(s.answer_until("children /s/leases")); // for lease 3
                s.list({});
                CHECK(s.servers.asks("create /s/leases/_c_00000000-0000-4000-8000-000000000004"));
            }
            CHECK_FALSE(a->ended);
        }
    }

    TEST_CASE("a permit that a look-up may have missed does not keep its path, and is looked for nevertheless")
    {
        semaphore_scene s;
        const auto gave_up = s.want(1, permits_of(2));
        s.give_line();
        CHECK(gave_up->handle->withdraw());
        s.reconnect(); // the create of permit 2 is lost, and has been done
        REQUIRE(s.answer_until("children /s/leases"));
        s.list({}); // by a leader that does not know what happened since
        const auto other = s.want(1, permits_of(3));
        CHECK_FALSE(other->ended); // or it would have been refused: the path was bound to 2
        s.reconnect();
        REQUIRE(s.answer_until("children /s/leases"));
        s.list({s.permit(2, 7)});
        CHECK(s.servers.asks("remove /s/leases/" + s.permit(2, 7)));
    }
}

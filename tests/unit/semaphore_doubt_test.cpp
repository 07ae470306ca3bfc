// Leases of which nobody knows whether they were made.
#include "semaphore_scene.hpp"

using namespace zklock::unit;

TEST_CASE("a lost create is looked for after a sync, and kept, made again or deleted")
{
    for (const bool wanted : {true, false})
        for (const bool there : {true, false}) {
            semaphore_scene s;
            const auto a = s.want_at_head(1, permits_of(1));
            if (!wanted)
                CHECK(a->handle->withdraw());
            s.reconnect();
            CAPTURE(wanted);
            CAPTURE(there);
            CHECK(s.servers.requests.front().what == "sync /"); // before the look
            s.answer_syncs();
            asked(s)
                .to("children /s/leases")
                .list(there ? std::vector<std::string>{s.permit(2, 7)} : std::vector<std::string>{});
            CAPTURE(s.servers.pending());
            CHECK(s.servers.asks("create /s/leases") == (wanted && !there));
            CHECK(s.servers.asks("remove " + s.permit_node(2, 7)) == (!wanted && there));
        }
}

TEST_CASE("what a look-up did not find is looked for again, until a write has shown that the server is up to date")
{
    for (const bool wrote : {false, true}) {
        CAPTURE(wrote);
        semaphore_scene s;
        const auto a = s.want_at_head(1, permits_of(2));
        s.reconnect(); // the create of permit 2 is lost, and has been done
        s.answer_syncs();
        asked(s).to("children /s/leases").list({}); // by a leader that does not know what happened since
        CHECK(s.servers.asks("create " + s.permit_prefix(3)));
        if (wrote)
            asked(s).to("create " + s.permit_prefix(3)).number(61, 8);
        s.reconnect();
        CHECK(s.servers.asks("sync /") != wrote);
        if (!wrote) {
            s.answer_syncs();
            for (int i = 0; i < 2; ++i) // one looks for permit 2, one for permit 3
                asked(s).to("children /s/leases").list({s.permit(2, 7)});
            CHECK(s.servers.asks("remove " + s.permit_node(2, 7)));
            CHECK(s.servers.asks("create " + s.permit_prefix(4)));
        }
        CHECK_FALSE(a->ended);
    }
}

TEST_CASE("a permit that a look-up may have missed does not keep its path, and is looked for nevertheless")
{
    semaphore_scene s;
    const auto gave_up = s.want_at_head(1, permits_of(2));
    CHECK(gave_up->handle->withdraw());
    s.reconnect(); // the create of permit 2 is lost, and has been done
    s.answer_syncs();
    asked(s).to("children /s/leases").list({}); // by a leader that does not know what happened since
    const auto other = s.want(1, permits_of(3));
    CHECK_FALSE(other->ended); // or it would have been refused: the path was bound to 2
    s.reconnect();
    s.answer_syncs();
    asked(s).to("children /s/leases").list({s.permit(2, 7)});
    CHECK(s.servers.asks("remove " + s.permit_node(2, 7)));
}

// sanitizers: address
// program: semaphores
// semaphore: cancellations, deadlines, lost connections, expired sessions, and others who delete what is ours.
#include "integration/semaphore_scene.hpp"

using namespace zklock::test;

TEST_CASE("cancelled or out of time at the head and in the line: nothing is left, and who comes next is served")
{
    const std::string path = "/semaphore/cancelled";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        semaphore gate(remote.zk, path, 2), same(other.zk, path, 2);
        for (const auto type : cancellation_types) {
            permits held = must(co_await gate.acquire());
            auto head = co_await queued(admin, path + "/leases", 3, begin(same, 2));
            auto behind = begin(same, 2);
            auto last = co_await queued(admin, path + "/locks", 3, begin(gate, 1));
            behind.cancel(type);
            CHECK(co_await behind.end() == asio::error::operation_aborted);
            head.cancel(type);
            CHECK(co_await head.end() == asio::error::operation_aborted);
            permits got = co_await granted(last); // it wanted the one that was free
            co_await until_permits(admin, path, 2);

            auto late = begin(same, 1, 50ms); // at the head
            auto late_too = begin(same, 1, 60ms);
            CHECK(co_await late.end() == condition::not_in_time);
            CHECK(co_await late_too.end() == condition::not_in_time);
            co_await until_permits(admin, path, 2);
            co_await release(got, held);
            co_await no_permit_left(server().port(), path);
        }

        // At once, while the first request is on its way.
        auto at_once = begin(gate, 2);
        at_once.cancel();
        CHECK(co_await at_once.end() == asio::error::operation_aborted);
        // And while the nodes are being made.
        remote.link.on_next(opcode::multi, moment::reply, fate::hold);
        auto making = begin(gate, 2);
        co_await until("the nodes are made", [&] { return remote.link.struck(); });
        making.cancel();
        CHECK(co_await making.end() == asio::error::operation_aborted);
        remote.link.release();
        co_await no_permit_left(server().port(), path);
        co_await take_turn(same.permits_of(2));
    };
    play<2>({.sessions = {120s, 120s}, .clean = places_of(path)}, story);
}

TEST_CASE("an acquire survives a cut at every request of it, and makes no node twice")
{
    struct place {
        opcode op;
        std::size_t skip;
    };
    // The lock of the line is a create of its own; then a permit's node or a batch of them, the list, and the lock
    // back.
    const std::vector<place> of_one{
        {opcode::create2, 0}, {opcode::create2, 1}, {opcode::get_children2, 0}, {opcode::remove, 0}};
    const std::vector<place> of_two{{opcode::multi, 0}, {opcode::get_children2, 0}};
    const std::string path = "/semaphore/cut";
    const auto body = [&]() -> awaitable<void> {
        admin_client admin(server().port());
        admin.create_all(path + "/locks");
        admin.create_all(path + "/leases");
        const std::array<std::size_t, 2> counts{1, 2};
        const std::array<moment, 2> moments{moment::request, moment::reply};
        for (const std::size_t count : counts)
            for (const place& p : count == 1 ? of_one : of_two)
                for (const moment at : moments) {
                    remote_client remote(co_await asio::this_coro::executor, server().port());
                    co_await warm_up(remote, "/semaphore/warm");
                    semaphore gate(remote.zk, path, 2);
                    CAPTURE(static_cast<int>(p.op));
                    CAPTURE(p.skip);
                    CAPTURE(static_cast<int>(at));
                    remote.link.on_next(p.op, at, fate::cut, p.skip);
                    auto attempt = begin(gate, count);
                    permits held = co_await granted(attempt);
                    co_await until("the cut was made", [&] { return remote.link.struck(); });
                    co_await until_permits(admin, path, count);
                    CHECK(held.count() == count);
                    remote.link.on_next(count == 1 ? opcode::remove : opcode::multi, at, fate::cut);
                    co_await release(std::move(held));
                    co_await no_permit_left(server().port(), path);
                    co_await remote.close();
                }
    };
    run_test(120s, body);
    expect_clean(server(), places_of(path));
}

TEST_CASE("the session ends: holders are told, their permits are free, and whoever waited queues again")
{
    const std::string path = "/semaphore/expired";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        semaphore gate(remote.zk, path, 2), same(other.zk, path, 2);
        permits held = must(co_await gate.permits_of(2).acquire());
        auto lost = begin_wait_lost(held);
        auto head = co_await queued(admin, path + "/leases", 3, begin(same, 1));
        auto behind = begin(same, 1);
        auto ours = co_await queued(admin, path + "/locks", 3, begin(gate, 1));
        other.link.expire_session(); // of those who wait
        co_await until("the other has a new session", [&] { return other.link.sessions().size() == 2; });
        CHECK(held);
        remote.link.expire_session(); // of the holder
        CHECK_FALSE(co_await lost.end());
        CHECK_FALSE(held);
        CHECK(error_in(co_await held.release(1)) == errc::lost);
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);

        // Two of the three have what they wanted.
        std::array<pending<permits>*, 3> all{&head, &behind, &ours};
        const auto ended = [&all] { return std::count_if(all.begin(), all.end(), [](auto* p) { return p->ended(); }); };
        co_await until("two are granted", [&ended] { return ended() == 2; });
        for (auto* attempt : all)
            if (attempt->ended()) {
                CHECK_FALSE(attempt->error());
                co_await release(std::move(attempt->value()));
            }
        co_await until("the third is granted", [&ended] { return ended() == 3; });
        head.value() = permits();
        behind.value() = permits();
        ours.value() = permits();
        co_await no_permit_left(server().port(), path);

        // The client is closed: what waits ends, what is held is lost.
        held = must(co_await gate.permits_of(2).acquire());
        auto waits = co_await queued(admin, path + "/leases", 3, begin(gate, 1));
        co_await remote.close();
        CHECK(co_await waits.end() == errc::closed);
        CHECK_FALSE(held);
        CHECK(error_in(co_await std::move(held).release()) == errc::lost);
    };
    play<2>({.clean = places_of(path)}, story);
}

TEST_CASE("others delete nodes: of a holder, of the head of the line, and all of them with their parent")
{
    const std::string path = "/semaphore/deleted";
    const auto story = [&](admin_client& admin, remote_client& remote, remote_client& other) -> awaitable<void> {
        semaphore gate(remote.zk, path, 2), same(other.zk, path, 2);
        permits held = must(co_await gate.permits_of(2).acquire());
        auto lost = begin_wait_lost(held);
        auto head = co_await queued(admin, path + "/leases", 4, begin(same, 2));
        const auto holders = must(co_await gate.holders());
        for (const contender& c : holders)
            if (!c.ours) {
                admin.remove(c.node);
                break;
            }
        co_await until_permits(admin, path, 4); // it has made them again
        CHECK_FALSE(head.ended());
        co_await until_watched(remote.zk, held.node());
        admin.remove(held.node());
        CHECK_FALSE(co_await lost.end());
        permits theirs = co_await granted(head); // the holder has given the rest back
        auto theirs_lost = begin_wait_lost(theirs);
        co_await until_watched(other.zk, theirs.node());
        admin.remove_all(path + "/leases");
        CHECK_FALSE(co_await theirs_lost.end());
        co_await take_turn(gate.permits_of(2)); // the parent is made again
        co_await no_permit_left(server().port(), path);
    };
    play<2>({.sessions = {120s, 120s}, .clean = places_of(path)}, story);
}

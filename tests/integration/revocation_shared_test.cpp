// sanitizers: address
// program: shared_mutexes
// Asking several who hold a lock together to let go: readers, holders of permits; and a writer who turns into a reader.
#include "integration/semaphore_scene.hpp"
#include "integration/shared_scene.hpp"

using namespace zklock::test;

TEST_CASE("all readers who hold the lock are asked, or the writer; not those who wait behind")
{
    const std::string path = "/revocation_shared/holders";
    const auto story = [&](admin_client& admin, remote_client& host, remote_client& other) -> awaitable<void> {
        co_await warm_up(host, path + "/elsewhere/a");
        co_await warm_up(other, path + "/elsewhere/b");
        shared_mutex theirs(host.zk, path + "/lock"), ours(other.zk, path + "/lock");
        CHECK(must(co_await ours.revoke_holders()) == 0);

        guard first = must(co_await theirs.shared().acquire());
        guard second = must(co_await ours.shared().acquire());
        const std::string foreign = foreign_reader(admin, path + "/lock");
        auto writer = co_await queued(admin, path + "/lock", 4, begin_write(theirs));
        auto behind = co_await queued(admin, path + "/lock", 5, begin_read(ours));
        auto first_asked = begin_wait_revoked(first);
        auto second_asked = begin_wait_revoked(second);
        other.link.forget();
        CHECK(must(co_await ours.revoke_holders()) == 3);
        CHECK(other.link.count(opcode::get_children2) + other.link.count(opcode::get_children) == 1);
        CHECK(other.link.count(opcode::set_data) == 3);
        CHECK(!co_await first_asked.end());
        CHECK(!co_await second_asked.end());
        CHECK(admin.get(foreign) == revoke_request);
        std::vector<contender> queue = must(co_await ours.contenders());
        REQUIRE(queue.size() == 5);
        for (std::size_t i = 0; i < queue.size(); ++i)
            CHECK(queue[i].revoked == (i < 3));

        co_await release(first, second);
        CHECK_FALSE(writer.ended());
        admin.remove(foreign);
        guard writes = co_await granted(writer);
        auto writer_asked = begin_wait_revoked(writes);
        co_await until_watched(host.zk, writes.node());
        CHECK_FALSE(writer_asked.ended());
        CHECK(must(co_await ours.revoke_holders()) == 1);
        CHECK(!co_await writer_asked.end());
        co_await release(std::move(writes));

        guard last = co_await granted(behind);
        auto last_asked = begin_wait_revoked(last);
        co_await until_watched(other.zk, last.node());
        CHECK_FALSE(last_asked.ended());
        queue = must(co_await theirs.contenders());
        must(co_await theirs.revoke(queue.at(0)));
        CHECK(!co_await last_asked.end());
        contender nothing = queue.at(0);
        nothing.node = path;
        CHECK(error_in(co_await theirs.revoke(nothing)) == errc::invalid_path);
        co_await release(std::move(last));

        // A guard that was asked for nothing ends its wait with itself.
        guard lost = must(co_await ours.shared().acquire());
        auto until_lost = begin_wait_revoked(lost);
        co_await until_watched(other.zk, lost.node());
        other.link.expire_session();
        CHECK(co_await until_lost.end() == errc::lost);
        CHECK(error_in(co_await std::move(lost).release()) == errc::lost);
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path + "/lock"}}, story);
}

TEST_CASE("a request goes along when a writer turns into a reader, whenever it comes")
{
    const std::string path = "/revocation_shared/downgrade";
    const auto story = [&](admin_client& admin, remote_client& host, remote_client& other) -> awaitable<void> {
        co_await warm_up(host, path + "/elsewhere/a");
        co_await warm_up(other, path + "/elsewhere/b");
        shared_mutex theirs(host.zk, path + "/lock"), ours(other.zk, path + "/lock");

        // Before: and the writer has not noticed.
        guard held = must(co_await theirs.acquire());
        admin.set(held.node(), revoke_request);
        host.link.forget();
        held = must(co_await theirs.downgrade(std::move(held)));
        CHECK(host.link.count(opcode::multi) == 2); // the first is refused
        CHECK(host.link.count(opcode::get_data) >= 1);
        CHECK(admin.get(held.node()) == revoke_request);
        must(co_await held.wait_revoked());
        co_await release(std::move(held));

        // Before, and noticed; and what others noted stays, too.
        held = must(co_await theirs.acquire());
        auto asked = begin_wait_revoked(held);
        CHECK(must(co_await ours.revoke_holders()) == 1);
        CHECK(!co_await asked.end());
        held = must(co_await theirs.downgrade(std::move(held)));
        must(co_await held.wait_revoked());
        CHECK(must(co_await ours.contenders()).at(0).revoked);
        co_await release(std::move(held));
        held = must(co_await theirs.acquire());
        admin.set(held.node(), "ours\nnote=1");
        held = must(co_await theirs.downgrade(std::move(held)));
        CHECK(admin.get(held.node()) == "ours\nnote=1");
        co_await release(std::move(held));

        // After: by a wait that was there before; and by whoever knows the writer only.
        for (const bool by_the_writer : {false, true}) {
            held = must(co_await theirs.acquire());
            const std::vector<contender> queue = must(co_await ours.contenders());
            auto waits = begin_wait_revoked(held);
            co_await until_watched(host.zk, held.node());
            host.link.forget();
            held = must(co_await theirs.downgrade(std::move(held)));
            CHECK(host.link.count(opcode::multi) == 1);
            CHECK_FALSE(waits.ended());
            other.link.forget();
            if (by_the_writer)
                must(co_await ours.revoke(queue.at(0)));
            else
                CHECK(must(co_await ours.revoke_holders()) == 1);
            CHECK(other.link.count(opcode::set_data) == (by_the_writer ? 2 : 1));
            CHECK(!co_await waits.end());
            must(co_await held.wait_revoked());
            co_await release(std::move(held));
        }
    };
    play<2>({.sessions = {120s, 120s}, .clean = {path + "/lock"}}, story);
}

TEST_CASE("holders of permits are asked: all of them, or one by any of its permits")
{
    for (const naming names : {naming::curator, naming::kazoo}) {
        const std::string path = std::string("/revocation_shared/") + (names == naming::kazoo ? "kazoo" : "curator");
        const auto story = [&](remote_client& host, remote_client& other) -> awaitable<void> {
            const auto options = with(&semaphore_options::permits, 3, &semaphore_options::names, names);
            semaphore theirs(host.zk, path, options), ours(other.zk, path, options);
            CHECK(must(co_await ours.revoke_holders()) == 0);
            permits two = must(co_await theirs.permits_of(2).acquire());
            permits one = must(co_await ours.acquire());
            auto two_asked = begin_wait_revoked(two);
            auto one_asked = begin_wait_revoked(one);
            CHECK(must(co_await ours.revoke_holders()) == 3);
            CHECK(!co_await two_asked.end());
            CHECK(!co_await one_asked.end());
            const std::vector<contender> asked = must(co_await ours.holders());
            REQUIRE(asked.size() == 3);
            for (const contender& each : asked)
                CHECK(each.revoked);
            CHECK(two); // not forced
            co_await release(two, one);
            CHECK(must(co_await ours.revoke_holders()) == 0);

            for (const bool by_the_last : {false, true}) {
                two = must(co_await theirs.permits_of(2).acquire());
                one = must(co_await ours.acquire());
                one_asked = begin_wait_revoked(one);
                co_await until_watched(other.zk, one.node());
                two_asked = begin_wait_revoked(two);
                std::vector<contender> holders = must(co_await ours.holders());
                const auto is_ours = [](const contender& each) { return each.ours; };
                holders.erase(std::remove_if(holders.begin(), holders.end(), is_ours), holders.end());
                REQUIRE(holders.size() == 2);
                must(co_await ours.revoke(by_the_last ? holders.back() : holders.front()));
                CHECK(!co_await two_asked.end());
                CHECK_FALSE(one_asked.ended());
                contender elsewhere = holders.front();
                elsewhere.node = path + "/elsewhere/node";
                CHECK(error_in(co_await ours.revoke(elsewhere)) == errc::invalid_path);
                co_await release(two, one);
                CHECK(co_await one_asked.end() == asio::error::operation_aborted);
            }
            co_await no_permit_left(server().port(), path);
        };
        play<2>({.sessions = {120s, 120s}, .clean = places_of(path, names)}, story);
    }
}

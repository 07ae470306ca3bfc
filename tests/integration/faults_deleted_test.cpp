// sanitizers: address
// program: faults
// Nodes that others delete: a waiter's, a holder's, and all of them with the parent.
#include "integration/play.hpp"

#include <iterator>

using namespace zklock::test;

TEST_CASE("a waiter whose node is deleted by others queues again at the tail and is not granted too early")
{
    play<3>([&](admin_client& admin, remote_client& a, remote_client& b, remote_client& c) -> awaitable<void> {
        const auto path = new_path();
        guard first = must(co_await mutex(a.zk, path).acquire());
        auto second = co_await queued(admin, path, 2, begin_acquire(mutex(b.zk, path)));
        auto third = co_await queued(admin, path, 3, begin_acquire(mutex(c.zk, path)));
        const auto before = queue_of(admin, path);
        co_await until_watched(b.zk, path + "/" + before[1]);

        REQUIRE(admin.remove(path + "/" + before[1]));
        co_await until("it queues again", [&] {
            const auto now = queue_of(admin, path);
            return now.size() == 3 && now[0] == before[0] && now[1] == before[2];
        });
        CHECK_FALSE(second.ended());
        CHECK_FALSE(third.ended());
        CHECK(first);
        co_await release(first);
        REQUIRE(!co_await third.end());
        CHECK_FALSE(second.ended());
        co_await release_well(third);
        co_await take_turn(second);
    });
}

TEST_CASE("a holder that holds on notices that others deleted its node")
{
    const auto story = [&](admin_client& admin, remote_client& a, remote_client& b) -> awaitable<void> {
        const auto path = new_path();
        auto held = begin_acquire(mutex(a.zk, path));
        REQUIRE(!co_await held.end());
        auto lost = begin_wait_lost(held.value());
        auto waiting = begin_acquire(mutex(b.zk, path));
        const auto node = held.value().node();
        co_await until_watched(a.zk, node);

        // Its data may change as they like.
        admin.set(node, "something else");
        co_await until_watched(a.zk, node);
        CHECK_FALSE(lost.ended());
        CHECK(held.value());

        // Deleted while it is cut off: seen after the reconnect.
        const bool while_away = true;
        for (const bool away : {false, while_away}) {
            auto& current = away ? waiting : held;
            auto& owner = away ? b : a;
            auto current_lost = begin_wait_lost(current.value());
            const auto current_node = current.value().node();
            co_await until_watched(owner.zk, current_node);
            if (away) {
                co_await owner.cut_off();
            }
            REQUIRE(admin.remove(current_node));
            if (away) {
                CHECK(current.value());
                owner.link.accept();
            }
            CHECK(!co_await current_lost.end(20s)); // a heartbeat would take longer
            CHECK_FALSE(current.value());
            if (!away)
                REQUIRE(!co_await waiting.end());
            CHECK(error_in(co_await std::move(current.value()).release()) == errc::lost);
        }
        CHECK(lost.ended());
    };
    play<2>({.sessions = {120s, 120s}}, story);
}

TEST_CASE("another has had the lock, for others had deleted its holder's node: the release says so")
{
    play<2>([&](admin_client& admin, remote_client& a, remote_client& b) -> awaitable<void> {
        const auto path = new_path();
        mutex lock(a.zk, path);
        guard held = must(co_await lock.acquire());
        const auto node = held.node();
        // Nothing that the server says is heard: neither that the node is gone, nor that there was none to delete.
        a.link.block(direction::replies);
        REQUIRE(admin.remove(node));
        guard between = must(co_await mutex(b.zk, path).acquire());
        a.link.forget();
        auto releasing = begin_release(held);
        co_await until("the delete is on its way", [&] { return a.link.count(opcode::remove) == 1; });
        CHECK_FALSE(releasing.ended());
        a.link.unblock();
        CHECK(co_await releasing.end() == errc::lost);
        CHECK(a.link.count(opcode::remove) == 1);
        co_await release(between);

        guard again = must(co_await lock.acquire());
        CHECK(again.node() != node);
        co_await release(again);
    });
}

TEST_CASE("the parent is deleted under a holder and waiters, and made again")
{
    const std::uint16_t port = server().port();
    play<3>([&](admin_client& admin, remote_client& a, remote_client& b, remote_client& c) -> awaitable<void> {
        const auto path = new_path();
        guard held = must(co_await mutex(a.zk, path).acquire());
        auto lost = begin_wait_lost(held);
        const std::int64_t first_token = held.fencing_token();
        auto waiting = begin_acquire(mutex(b.zk, path));
        auto waiting_too = begin_acquire(mutex(b.zk, path));
        auto waiting_three = co_await queued(admin, path, 4, begin_acquire(mutex(c.zk, path)));
        co_await until_watched(a.zk, held.node());
        const auto parent = admin.exists(path);
        REQUIRE(parent);

        // Nobody can come back before the parent is gone.
        for (auto* client : {&a, &b, &c})
            client->link.block(direction::requests);
        auto nodes = queue_of(admin, path);
        std::reverse(nodes.begin(), nodes.end()); // or the first deletion would be a grant
        for (const auto& node : nodes)
            REQUIRE(admin.remove(path + "/" + node));
        REQUIRE(admin.remove(path));
        CHECK(!co_await lost.end());
        CHECK_FALSE(waiting.ended());
        CHECK_FALSE(waiting_three.ended());
        for (auto* client : {&a, &b, &c})
            client->link.unblock();

        std::vector<pending<guard>*> left{&waiting, &waiting_too, &waiting_three};
        std::int64_t last_token = first_token;
        while (!left.empty()) {
            co_await until("somebody has the lock",
                           [&] { return std::any_of(left.begin(), left.end(), [](auto* p) { return p->ended(); }); });
            std::vector<pending<guard>*> now;
            std::copy_if(left.begin(), left.end(), std::back_inserter(now), [](auto* p) { return p->ended(); });
            REQUIRE(now.size() == 1);
            REQUIRE(!now[0]->error());
            CHECK(now[0]->value().fencing_token() > last_token);
            last_token = now[0]->value().fencing_token();
            co_await release_well(*now[0]);
            std::erase(left, now[0]);
        }
        const auto new_parent = admin.exists(path);
        REQUIRE(new_parent);
        CHECK(new_parent->czxid > parent->czxid);

        // Between two acquires the parent may go, too, and the numbers begin again; the tokens do not.
        co_await nothing_left(port);
        for (int i = 0; i < 3; ++i) {
            admin.remove_all(path);
            for (auto* client : {&a, &b}) {
                guard again = must(co_await mutex(client->zk, path).acquire());
                CHECK(again.fencing_token() > last_token);
                last_token = again.fencing_token();
                co_await release(again);
            }
        }
    });
}

// sanitizers: address
// program: semaphores
// permits: their holder is asked to let go, and writes only while all of them are there.
#include "integration/semaphore_scene.hpp"

using namespace zklock::test;

namespace {

/// The nodes of the client's permits, the oldest first.
awaitable<std::vector<std::string>> nodes_of(semaphore gate)
{
    std::vector<std::string> nodes;
    for (const contender& c : must(co_await gate.holders()))
        if (c.ours)
            nodes.push_back(c.node);
    co_return nodes;
}

} // namespace

TEST_CASE("asked by the node of any permit, before the wait and after; a part by its own")
{
    for (const naming names : {naming::curator, naming::kazoo}) {
        const std::string path = names == naming::curator ? "/permits/asked" : "/permits/asked_kazoo";
        const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
            const auto options = with(&semaphore_options::permits, 3, &semaphore_options::names, names);
            semaphore gate(remote.zk, path, options);
            permits held = must(co_await gate.permits_of(3).acquire());
            const std::vector<std::string> nodes = co_await nodes_of(gate);
            REQUIRE(nodes.size() == 3);
            auto wait = begin_wait_revoked(held);
            auto second = begin_wait_revoked(held);
            for (const std::string& node : nodes)
                co_await until_watched(remote.zk, node);
            admin.set(nodes[1], "somebody else\nnote=1");
            admin.set(nodes[2], revoke_request + "\n");
            CHECK_FALSE(wait.ended());
            admin.set(nodes[1], revoke_request);
            CHECK(!co_await wait.end());
            CHECK(!co_await second.end());
            CHECK(held);
            CHECK(held.count() == 3);
            must(co_await held.wait_revoked()); // it stays
            const auto holders = must(co_await gate.holders());
            CHECK(std::count_if(holders.begin(), holders.end(), [](const contender& c) { return c.revoked; }) == 1);
            co_await release(std::move(held));

            // A part is asked by its own nodes only, also if that was before it was one.
            held = must(co_await gate.permits_of(3).acquire());
            permits part = must(co_await held.split(1));
            CHECK(part.node() != held.node());
            admin.set(part.node(), revoke_request);
            auto wait_rest = begin_wait_revoked(held);
            must(co_await part.wait_revoked());
            co_await until_watched(remote.zk, held.node());
            CHECK_FALSE(wait_rest.ended());
            admin.set(held.node(), revoke_request);
            CHECK(!co_await wait_rest.end());
            must(co_await held.release(1)); // as it was asked to
            CHECK(held.count() == 1);
            co_await release(part, held);
            co_await no_permit_left(server().port(), path);
        };
        play<1>({.sessions = {120s}, .clean = places_of(path, names)}, story);
    }
}

TEST_CASE("waiting to be asked ends: cancelled, given back, in parts, dropped, lost, of nobody; a cut is survived")
{
    const std::string path = "/permits/ends";
    const auto story = [&](admin_client& admin, remote_client& remote) -> awaitable<void> {
        semaphore gate(remote.zk, path, 2);
        co_await waits_end(gate, begin_wait_revoked<permits>);

        permits held = must(co_await gate.permits_of(2).acquire());
        auto until_emptied = begin_wait_revoked(held);
        auto lost_or_emptied = begin_wait_lost(held);
        must(co_await held.release(1));
        CHECK_FALSE(until_emptied.ended());
        must(co_await held.release(1));
        CHECK(co_await until_emptied.end() == asio::error::operation_aborted);
        CHECK(co_await lost_or_emptied.end() == asio::error::operation_aborted);
        // So it is once there are none left.
        CHECK(error_in(co_await held.wait_revoked()) == asio::error::operation_aborted);
        CHECK(error_in(co_await held.wait_lost()) == asio::error::operation_aborted);
        CHECK(error_in(co_await held.release(1)) == errc::not_owner);
        CHECK(error_in(co_await held.split(1)) == errc::not_owner);
        CHECK(error_in(co_await held.commit(transaction())) == errc::not_owner);

        // Asked while the connection is away.
        held = must(co_await gate.permits_of(2).acquire());
        const std::vector<std::string> nodes = co_await nodes_of(gate);
        auto wait = begin_wait_revoked(held);
        co_await until_watched(remote.zk, nodes.at(1));
        co_await remote.cut_off();
        admin.set(nodes.at(1), revoke_request);
        CHECK_FALSE(wait.ended());
        remote.link.accept();
        CHECK(!co_await wait.end());
        co_await release(std::move(held));

        held = must(co_await gate.permits_of(2).acquire());
        auto until_lost = begin_wait_revoked(held);
        remote.link.expire_session();
        CHECK(co_await until_lost.end() == errc::lost);
        CHECK(error_in(co_await held.wait_revoked()) == errc::lost);
    };
    play<1>({.clean = places_of(path)}, story);
}
